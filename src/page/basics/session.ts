import { computed, signal } from '@preact/signals'

export interface Person {
  username: string
  roles: string[]
}

/** The user who is logged in; the service writes it into the HTML document. */
export const person = signal<Person | undefined>(personInPage())
export const isAdmin = computed(() => person.value?.roles.includes('admin') ?? false)

/** Whether the session has ended while the page was open; then a login dialog covers the page. */
export const hasSessionEnded = signal(false)

let back: { promise: Promise<void>; resolve: () => void } | undefined

/** Resolves when a user has logged in again. */
export function loginAgain(): Promise<void> {
  back ??= Promise.withResolvers<void>()
  if (person.value) hasSessionEnded.value = true
  return back.promise
}

/** Prefix of the keys of all that this browser keeps of a user: drafts, and what was looked at last. */
export const KEPT = 'dossier/'

/** All windows share the session cookie: if another user logs in within one, the others must switch too. */
const windows = new BroadcastChannel('dossier')
windows.onmessage = ({ data }) => {
  const here = person.value?.username
  if (here === data) resume()
  else if (here !== undefined || data !== '') startAnew()
}

/** Discards what is kept and reloads, so that the next user sees nothing of the previous one. */
function startAnew(): void {
  for (const key of Object.keys(localStorage)) if (key.startsWith(KEPT)) localStorage.removeItem(key)
  location.reload()
}

/** Updates the user to the one that the service reports; if it is a different one, starts anew and returns false. */
export function updateUser(by: Person): boolean {
  if (person.value && person.value.username !== by.username) {
    startAnew()
    return false
  }
  person.value = by
  return true
}

export function handleLogout(): void {
  windows.postMessage('')
  startAnew()
}

export function handleLogin(by: Person): void {
  windows.postMessage(by.username)
  if (updateUser(by)) resume()
}

/** Continues the requests that waited for a login. */
function resume(): void {
  hasSessionEnded.value = false
  back?.resolve()
  back = undefined
}

function personInPage(): Person | undefined {
  const content = document.querySelector<HTMLMetaElement>('meta[name="dossier-user"]')?.content
  return content ? JSON.parse(content) : undefined
}
