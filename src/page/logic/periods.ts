import { DAY_MS, isoDay } from '../../lib/dates.ts'
import { say } from '../language/say.ts'
import { momentIn, toUtc } from './values.ts'

/** Periods that move with the clock, as they are written in an address. */
export const PERIODS = [
  'today',
  'yesterday',
  'the last 7 days',
  'the last 30 days',
  'the last 90 days',
  'this week',
  'this month',
  'last month',
  'this year',
  'last year',
  'the next 7 days',
  'the next 30 days',
] as const

const TITLES: Record<string, string> = {
  today: say('today'),
  yesterday: say('yesterday'),
  'this week': say('this week'),
  'this month': say('this month'),
  'last month': say('last month'),
  'this year': say('this year'),
  'last year': say('last year'),
}

/** A period for people; what is none, as it is. */
export function periodTitle(period: string): string {
  const [, way, days = ''] = DAYS.exec(period) ?? []
  if (way === 'last') return say('the last {days} days', { days })
  if (way === 'next') return say('the next {days} days', { days })
  return Object.hasOwn(TITLES, period) ? (TITLES[period] as string) : period
}

const DAYS = /^the (last|next) (\d{1,4}) days$/

/** The first and the last day of a period, as `YYYY-MM-DD`; undefined if there is no such period. */
export function periodDays(period: string, today: string): [first: string, last: string] | undefined {
  const now = new Date(`${today}T00:00:00Z`)
  const [year, month] = [now.getUTCFullYear(), now.getUTCMonth()]
  const day = (days: number) => isoDay(now.getTime() + days * DAY_MS)
  const ofYear = (which: number) => [isoDay(Date.UTC(which, 0, 1)), isoDay(Date.UTC(which, 11, 31))] as [string, string]
  const ofMonth = (which: number) =>
    [isoDay(Date.UTC(year, which, 1)), isoDay(Date.UTC(year, which + 1, 0))] as [string, string]
  const [, way, days] = DAYS.exec(period) ?? []
  if (way === 'last') return [day(1 - Number(days)), day(0)]
  if (way === 'next') return [day(0), day(Number(days) - 1)]
  // Weeks begin on Monday.
  const monday = -((now.getUTCDay() + 6) % 7)
  const named = new Map<string, [string, string]>([
    ['today', [day(0), day(0)]],
    ['yesterday', [day(-1), day(-1)]],
    ['this week', [day(monday), day(monday + 6)]],
    ['this month', ofMonth(month)],
    ['last month', ofMonth(month - 1)],
    ['this year', ofYear(year)],
    ['last year', ofYear(year - 1)],
  ])
  return named.get(period)
}

export const isPeriod = (text: string) => periodDays(text, '2000-01-01') !== undefined

const STEP_MS = 900_000

/**
 * When a day begins. Where the clocks go forward at midnight, it begins later: what would be midnight is the day
 * before.
 */
function startOf(day: string, zone: string): number {
  let start = Date.parse(toUtc(`${day}T00:00:00`, zone))
  while (momentIn(new Date(start).toISOString(), zone).slice(0, 10) < day) start += STEP_MS
  return start
}

/**
 * The first and the last value of a period, as it is now in a zone. Moments run from midnight to midnight of that zone.
 */
export function periodBounds(
  period: string,
  isMoment: boolean,
  zone: string,
  now: Date,
): [first: string, last: string] | undefined {
  const days = periodDays(period, momentIn(now.toISOString(), zone).slice(0, 10))
  return days && isMoment ? dayBounds(days, zone) : days
}

/** The first and the last moment of some days. */
export function dayBounds([first, last]: [first: string, last: string], zone: string): [string, string] {
  const end = startOf(isoDay(Date.parse(`${last}T00:00:00Z`) + DAY_MS), zone) - 1
  return [new Date(startOf(first, zone)).toISOString(), new Date(end).toISOString()]
}
