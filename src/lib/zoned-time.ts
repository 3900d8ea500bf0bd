import { DAY_MS, QUARTER_MS, REGULAR_SINCE } from './dates.ts'

/** Clock times of a time zone. */

const SINCE = Date.parse(REGULAR_SINCE)
/** Quarters of an hour that are cached: formatting a date is the slowest part. */
const MAX_QUARTERS = 20_000

/** Returns a function that finds how far the clocks of a zone are ahead of UTC, in milliseconds. */
export function createOffsetFinder(zone: string): (time: number) => number {
  if (zone === 'UTC') return () => 0
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    calendar: 'gregory',
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  })
  const offsets = new Map<number, number>()
  const offsetAt = (time: number) => {
    const parts = Object.fromEntries(format.formatToParts(time).map(({ type, value }) => [type, Number(value)]))
    const { year, month, day, hour, minute, second } = parts as Record<string, number>
    // `Date.UTC` takes the years 0 to 99 for those of the last century.
    const clock = new Date(Date.UTC(2000, 0, 1, hour, minute, second))
    return clock.setUTCFullYear(year as number, (month as number) - 1, day) - Math.floor(time / 1000) * 1000
  }
  return (time) => {
    if (time < SINCE) return offsetAt(time)
    const quarter = Math.floor(time / QUARTER_MS)
    const offset = offsets.get(quarter) ?? offsetAt(quarter * QUARTER_MS)
    if (offsets.size >= MAX_QUARTERS) offsets.clear()
    offsets.set(quarter, offset)
    return offset
  }
}

/** `2026-03-29T10:30`, with seconds or parts of them, after a space or a T. */
const CLOCK_TIME = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)(:\d\d(?:\.\d{1,3})?)?$/

export const isClockTime = (text: string) => CLOCK_TIME.test(text)

/**
 * The moment of a clock time that names no zone, as `2026-03-29T08:30:00.000Z`; undefined if it is not such a time. One
 * that clocks skip means the time after it, and one that they show twice the first.
 */
export function parseClockTime(text: string, offset: (time: number) => number): string | undefined {
  const parts = CLOCK_TIME.exec(text)
  if (!parts) return undefined
  const local = Date.parse(`${parts[1]}T${parts[2]}${parts[3] ?? ''}Z`)
  // `Date.parse` takes the 30th of February for a day in March, and 24:00 for one of the next.
  if (Number.isNaN(local) || !new Date(local).toISOString().startsWith(`${parts[1]}T${parts[2]}`)) return undefined
  const before = local - offset(local - DAY_MS)
  const after = local - offset(local + DAY_MS)
  const time = offset(before) === local - before ? before : offset(after) === local - after ? after : before
  return new Date(time).toISOString()
}
