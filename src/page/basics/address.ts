import { computed, signal } from '@preact/signals'

/** The current place, kept after the `#` of the address: links can be shared, and the browser's back button works. */
export interface Place {
  path: string[]
  query: URLSearchParams
}

const hash = signal(location.hash)
/** where the user was before, if that is the entry before this one in the browser's history */
let before: string | undefined
let wentBack = false

history.replaceState({ isKnown: true }, '')
addEventListener('popstate', () => {
  // Also comes before `hashchange` when a link is followed; then the entry has no state yet.
  wentBack = history.state?.isKnown === true
})
addEventListener('hashchange', () => {
  before = wentBack ? undefined : hash.peek()
  wentBack = false
  history.replaceState({ isKnown: true }, '')
  hash.value = location.hash
})

export const place = computed<Place>(() => placeIn(hash.value))

function placeIn(text: string): Place {
  const [path = '', query = ''] = text.replace(/^#?\/?/, '').split(/\?(.*)/s)
  return { path: path.split('/').filter(Boolean).map(decoded), query: new URLSearchParams(query) }
}

/** `to('m', 'contacts.Contact', 5)` → `#/m/contacts.Contact/5`. */
export const to = (...path: (string | number)[]) => `#/${path.map((step) => encodeURIComponent(step)).join('/')}`

export function withQuery(href: string, query: URLSearchParams): string {
  const text = String(query)
  return text === '' ? href : `${href}?${text}`
}

export function go(href: string): void {
  location.hash = href
}

/**
 * Returns whether the user is still here, for what happens after something has been saved: who has left is not fetched
 * back.
 */
export function rememberPlace(): () => boolean {
  const here = location.hash
  return () => location.hash === here
}

/** Replaces the current history entry instead of adding one. */
export function goInstead(href: string): void {
  history.replaceState({ isKnown: true }, '', href)
  hash.value = location.hash
}

/** Leaves a form for where the user came from: the form is not in the history afterwards. */
export function goBackTo(href: string): void {
  if (before === href) history.back()
  else goInstead(href)
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
