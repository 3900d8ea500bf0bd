import { computed, signal } from '@preact/signals'

export interface Person {
  username: string
  roles: string[]
}

/** Who is logged in; the service has written it into the page. */
export const person = signal<Person | undefined>(personInPage())
export const isAdmin = computed(() => person.value?.roles.includes('admin') ?? false)

/** Whether the session has ended under one's hands: then one logs in over what is on the screen. */
export const isAway = signal(false)

let back: { promise: Promise<void>; resolve: () => void } | undefined

/** Waits until somebody is logged in again. */
export function loginAgain(): Promise<void> {
  back ??= Promise.withResolvers<void>()
  if (person.value) isAway.value = true
  return back.promise
}

/** What is kept of what was typed begins with this. */
export const DRAFTS = 'dossier/'

/** Windows share the cookie: if somebody else has logged in within one, the others are theirs as well. */
const windows = new BroadcastChannel('dossier')
windows.onmessage = ({ data }) => {
  const here = person.value?.username
  if (here === data) resume()
  else if (here !== undefined || data !== '') startAnew()
}

/** Another person sees another page: nothing of the one before may stay. */
function startAnew(): void {
  for (const key of Object.keys(sessionStorage)) if (key.startsWith(DRAFTS)) sessionStorage.removeItem(key)
  location.reload()
}

/** Who the service says it is. */
export function isStill(by: Person): boolean {
  if (person.value && person.value.username !== by.username) {
    startAnew()
    return false
  }
  person.value = by
  return true
}

export function loggedOut(): void {
  windows.postMessage('')
  startAnew()
}

export function loggedIn(by: Person): void {
  windows.postMessage(by.username)
  if (isStill(by)) resume()
}

/** Whatever waited for somebody to log in goes on. */
function resume(): void {
  isAway.value = false
  back?.resolve()
  back = undefined
}

function personInPage(): Person | undefined {
  const content = document.querySelector<HTMLMetaElement>('meta[name="dossier-user"]')?.content
  return content ? JSON.parse(content) : undefined
}
