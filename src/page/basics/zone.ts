import { signal } from '@preact/signals'

/** The one zone that all times on the page are in; it is named at its foot. */
const own = Intl.DateTimeFormat().resolvedOptions().timeZone

const KEY = 'dossier-zone'

export const zones = [...new Set([own, 'UTC'])]
export const zone = signal(
  zones.includes(localStorage.getItem(KEY) ?? '') ? (localStorage.getItem(KEY) as string) : own,
)

export function chooseZone(name: string): void {
  localStorage.setItem(KEY, name)
  zone.value = name
}
