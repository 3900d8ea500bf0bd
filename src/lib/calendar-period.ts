import { DAY_MS, QUARTER_MS, REGULAR_SINCE } from './dates.ts'

export const PERIODS = ['day', 'week', 'month', 'quarter', 'year'] as const
export type Period = (typeof PERIODS)[number]

const QUARTERS = 96
/** Zones, and days of each, that are remembered. */
const MAX_ZONES = 20
const MAX_DAYS = 20_000

/** Returns a function that finds the period of a stored date, or of a stored date-time in a zone. */
export function createPeriodFinder() {
  const zones = new Map<string, (moment: string) => string>()
  const dayIn = (zone: string) => {
    const days = zones.get(zone) ?? localDays(zone)
    if (zones.size > MAX_ZONES) zones.clear()
    zones.set(zone, days)
    return days
  }
  return (value: string, by: Period, zone: string): string => {
    // Years have four digits. On the first and last days a zone could lead beyond them, so UTC is used.
    const isUtc = value.length === DATE_LENGTH || zone === 'UTC' || value < FIRST || value >= LAST
    return formatPeriod(isUtc ? value.slice(0, DATE_LENGTH) : dayIn(zone)(value), by)
  }
}

const DATE_LENGTH = '2024-02-29'.length
export const FIRST = '0001-01-02'
export const LAST = '9999-12-31'

/** The period of a day, as `2024-02-29`, `2024-W09`, `2024-02`, `2024-Q1` or `2024`. */
export function formatPeriod(day: string, by: Period): string {
  if (by === 'day') return day
  if (by === 'month') return day.slice(0, 7)
  if (by === 'year') return day.slice(0, 4)
  if (by === 'quarter') return `${day.slice(0, 4)}-Q${Math.ceil(Number(day.slice(5, 7)) / 3)}`
  return isoWeek(day)
}

/** A week belongs to the year that its Thursday is in. */
function isoWeek(day: string): string {
  // PostgreSQL knows no such year.
  if (day < '0001') return `${day.slice(0, 4)}-W00`
  const date = new Date(`${day}T00:00:00Z`)
  const thursday = new Date(date.getTime() + (4 - (date.getUTCDay() || 7)) * DAY_MS)
  const year = thursday.getUTCFullYear()
  const first = new Date(0)
  first.setUTCFullYear(year, 0, 1)
  const week = Math.floor((thursday.getTime() - first.getTime()) / DAY_MS / 7) + 1
  return `${String(year).padStart(4, '0')}-W${String(week).padStart(2, '0')}`
}

/** The day in a zone during a day in UTC: another one begins after some quarters of an hour. */
interface LocalDay {
  first: string
  second: string
  quarters: number
}

/** Finds the day in a zone. Formatting a date is the slowest part, so days in UTC are cached. */
function localDays(zone: string): (moment: string) => string {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    calendar: 'gregory',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
  })
  const days = new Map<string, LocalDay>()
  const dayAt = (time: number) => {
    const parts = Object.fromEntries(format.formatToParts(time).map(({ type, value }) => [type, value]))
    return `${(parts.year as string).padStart(4, '0')}-${parts.month}-${parts.day}`
  }
  const divide = (start: number): LocalDay => {
    const first = dayAt(start)
    let [low, high] = [0, QUARTERS]
    while (high - low > 1) {
      const middle = (low + high) >> 1
      if (dayAt(start + middle * QUARTER_MS) === first) low = middle
      else high = middle
    }
    return { first, second: dayAt(start + high * QUARTER_MS), quarters: high }
  }
  return (moment) => {
    const time = Date.parse(moment)
    if (moment < REGULAR_SINCE) return dayAt(time)
    const utc = moment.slice(0, DATE_LENGTH)
    const start = Date.parse(utc)
    const day = days.get(utc) ?? divide(start)
    if (days.size > MAX_DAYS) days.clear()
    days.set(utc, day)
    return time - start < day.quarters * QUARTER_MS ? day.first : day.second
  }
}

/** Other names mean other zones in PostgreSQL, or none. */
const ZONE = /^(?:Africa|America|Antarctica|Arctic|Asia|Atlantic|Australia|Etc|Europe|Indian|Pacific)(?:\/[\w+-]+)+$/

/** Whether there is a time zone of that name, such as Europe/Oslo. Offsets such as +02:00 are none. */
export function isZone(name: string): boolean {
  if (name === 'UTC') return true
  if (!ZONE.test(name)) return false
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone: name }) !== undefined
  } catch {
    return false
  }
}
