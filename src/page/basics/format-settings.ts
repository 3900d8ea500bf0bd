import { computed, signal } from '@preact/signals'
import type { FormatSettings } from '../logic/values.ts'

/** How this user reads times, dates and numbers. It is the browser's way, until the user chooses another one. */

const ownZone = Intl.DateTimeFormat().resolvedOptions().timeZone
const ZONE_KEY = 'dossier-zone'
const LOCALE_KEY = 'dossier-locale'

export const zones = [...new Set([ownZone, 'UTC'])]
export const zone = signal(kept(ZONE_KEY, zones))

/** The languages of the browser, and some that write dates and numbers differently. */
export const locales = [...new Set([...navigator.languages, 'en-GB', 'en-US', 'de-DE', 'fr-FR', 'sv-SE'])]
export const locale = signal(kept(LOCALE_KEY, locales))

export const formatSettings = computed<FormatSettings>(() => ({ zone: zone.value, locale: locale.value }))

export function chooseZone(name: string): void {
  localStorage.setItem(ZONE_KEY, name)
  zone.value = name
}

export function chooseLocale(name: string): void {
  localStorage.setItem(LOCALE_KEY, name)
  locale.value = name
}

function kept(key: string, choices: string[]): string {
  const known = localStorage.getItem(key) ?? ''
  return choices.includes(known) ? known : (choices[0] as string)
}
