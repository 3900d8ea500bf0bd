import { DAY_MS } from '../lib/dates.ts'

/** Dates of spreadsheets: days since the end of 1899 as a number, with the time of day as its fraction. */

/** 1970-01-01 */
const EPOCH = 25_569
/** Spreadsheets take 1900 for a leap year: only from March on do they agree with the calendar. */
const FIRST = 61
/** 9999-12-31 */
const LAST = 2_958_465
/** Days by which the other way to count begins later, in 1904. */
export const SINCE_1904 = 1462

/** The number of a clock time, given as if it were UTC; undefined if spreadsheets have no such day. */
export function toSerial(time: number): number | undefined {
  const serial = time / DAY_MS + EPOCH
  return serial >= FIRST && serial < LAST + 1 ? serial : undefined
}

/** A cell with a number can show a date, a time of day, or both. */
export type DateKind = 'date' | 'time' | 'both'

/** The number as `2026-03-29`, `10:30:00` or `2026-03-29T10:30:00`; undefined if it is no date. */
export function fromSerial(serial: number, kind: DateKind): string | undefined {
  if (!(serial >= 0 && serial < LAST + 1)) return undefined
  const days = serial < FIRST && kind !== 'time' ? serial + 1 : serial
  const [day, clock] = new Date(Math.round((days - EPOCH) * DAY_MS)).toISOString().split('T') as [string, string]
  const time = clock.replace(/(?:\.000)?Z$/, '')
  if (kind === 'time' && serial < 1) return time
  return kind === 'date' && time === '00:00:00' ? day : `${day}T${time}`
}

/** Number formats without a code of their own that show dates. */
const BUILT_IN: [first: number, last: number, kind: DateKind][] = [
  [14, 17, 'date'],
  [18, 21, 'time'],
  [22, 22, 'both'],
  [27, 31, 'date'],
  [32, 35, 'time'],
  [36, 36, 'date'],
  [45, 47, 'time'],
  [50, 58, 'date'],
]

/** Characters of a number format; spreadsheets have no longer ones, and to look at them would take long. */
const MAX_CODE = 255

/** The kind of date that a number format shows; undefined if it shows none. */
export function dateKind(id: number, code: string | undefined): DateKind | undefined {
  if (code === undefined) return BUILT_IN.find(([first, last]) => id >= first && id <= last)?.[2]
  if (code.length > MAX_CODE) return undefined
  // Texts, colours and conditions; but [h] is a number of hours.
  const signs = code.replace(/"[^"]*"|\\.|_.|\*.|\[(?![hms]+\])[^\]]*\]/gi, '').toLowerCase()
  const hasDay = /[dy]/.test(signs)
  const hasClock = /[hs]/.test(signs)
  if (hasDay) return hasClock ? 'both' : 'date'
  return hasClock ? 'time' : /m/.test(signs) ? 'date' : undefined
}
