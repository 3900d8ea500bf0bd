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

/** Another person sees another page: nothing of the one before may stay. */
export function loggedIn(by: Person): void {
  const isOther = person.value !== undefined && person.value.username !== by.username
  if (isOther) {
    location.reload()
    return
  }
  person.value = by
  isAway.value = false
  back?.resolve()
  back = undefined
}

function personInPage(): Person | undefined {
  const content = document.querySelector<HTMLMetaElement>('meta[name="dossier-user"]')?.content
  return content ? JSON.parse(content) : undefined
}
