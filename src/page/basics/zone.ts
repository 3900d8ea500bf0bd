import { signal } from '@preact/signals'

/** The browser's time zone. All times on the page are in one zone, which the footer names. */
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
