import { DAY_MS, isoDay } from '../../lib/dates.ts'

/** The first and the last day of a day, week, month, quarter or year, as groups are named: `2024-W09`, `2024-02`. */
export function calendarDays(text: string): [first: string, last: string] | undefined {
  const [, year = '', kind, number] = /^(\d{4})(?:-(Q|W)?(\d{2}|\d))?$/.exec(text) ?? []
  if (year === '') return /^\d{4}-\d{2}-\d{2}$/.test(text) ? [text, text] : undefined
  const at = Number(number)
  const months = (from: number, count: number): [string, string] => [
    isoDay(utc(Number(year), from, 1)),
    isoDay(utc(Number(year), from + count, 0)),
  ]
  if (number === undefined) return months(0, 12)
  if (kind === 'Q') return months(3 * (at - 1), 3)
  if (kind !== 'W') return months(at - 1, 1)
  // The first week has the 4th of January.
  const fourth = utc(Number(year), 0, 4)
  const monday = fourth - ((new Date(fourth).getUTCDay() + 6) % 7) * DAY_MS + 7 * (at - 1) * DAY_MS
  return [isoDay(monday), isoDay(monday + 6 * DAY_MS)]
}

/** As `Date.UTC`, which takes years below 100 for those of the last century. */
function utc(year: number, month: number, day: number): number {
  const date = new Date(0)
  return date.setUTCFullYear(year, month, day)
}
