import type { Schema } from './model.ts'

/** Formats values for display. */

export const NOTHING = '–'

export function formatValue(schema: Schema, value: unknown, zone: string): string {
  if (value === null || value === undefined) return NOTHING
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (schema.format === 'date-time') return momentIn(String(value), zone)
  if (schema.format === 'time') return timeIn(String(value))
  if (Array.isArray(value) && value.every((item) => typeof item !== 'object'))
    return value.length === 0
      ? 'none'
      : value.map((item) => (item === '' ? '""' : formatValue(schema.items ?? {}, item, zone))).join(', ')
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** Year first and with seconds, so that two times compare at a glance: `2026-11-15 23:05:09`. */
export function momentIn(iso: string, zone: string): string {
  const moment = new Date(iso)
  if (Number.isNaN(moment.getTime())) return iso
  const { year, month, day, hour, minute, second } = partsIn(moment, zone)
  return `${year}-${month}-${day} ${hour}:${minute}:${second}`
}

function partsIn(moment: Date, zone: string): Record<string, string> {
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  })
  const parts = Object.fromEntries(format.formatToParts(moment).map(({ type, value }) => [type, value]))
  return { ...parts, year: String(parts.year).padStart(4, '0') }
}

/** A time of day has no date, so it cannot be converted to another zone: it stays in UTC. */
const timeIn = (text: string) => `${text.replace(/(?:\.000)?Z$/, '')} UTC`

/** Format of a `datetime-local` input; with milliseconds only if they are not zero. */
export function toLocal(iso: string, zone: string): string {
  const ms = new Date(iso).getUTCMilliseconds()
  return momentIn(iso, zone).replace(' ', 'T') + (ms > 0 ? `.${String(ms).padStart(3, '0')}` : '')
}

/** Value of a `datetime-local` input → UTC. Where clocks go back, one of two moments; which one varies by zone. */
export function toUtc(local: string, zone: string): string {
  const asUtc = new Date(`${local}Z`)
  if (Number.isNaN(asUtc.getTime())) return local
  /** local time at a moment, as if it were UTC */
  const clockAt = (moment: Date) => Date.parse(`${momentIn(moment.toISOString(), zone).replace(' ', 'T')}Z`)
  // The second round corrects the offset: the first one used that of the same clock time in UTC.
  let moment = asUtc.getTime()
  for (let round = 0; round < 2; round++) {
    const whole = Math.floor(moment / 1000) * 1000
    moment = asUtc.getTime() - (clockAt(new Date(whole)) - whole)
  }
  return new Date(moment).toISOString()
}

/** Rough age, in its largest unit: users want to know whether it was minutes or months. */
export function formatAge(iso: string, now: number): string {
  const seconds = Math.max(0, (now - Date.parse(iso)) / 1000)
  const [size, unit] = UNITS.find(([length]) => seconds >= length) ?? [1, 'second']
  const count = Math.floor(seconds / size)
  return `${count} ${unit}${count === 1 ? '' : 's'} ago`
}

const UNITS: [seconds: number, unit: string][] = [
  [31_557_600, 'year'],
  [2_629_800, 'month'],
  [86_400, 'day'],
  [3600, 'hour'],
  [60, 'minute'],
]

export function formatSize(bytes: number): string {
  const units = ['bytes', 'KB', 'MB', 'GB', 'TB']
  const step = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3))
  return `${(bytes / 1000 ** step).toFixed(step === 0 ? 0 : 1)} ${units[step]}`
}

/** Groups thousands by a narrow space, independent of the language. */
export const formatCount = (count: number) => String(count).replace(/\B(?=(\d{3})+$)/g, '\u202f')

export const plural = (count: number, one: string, many = `${one}s`) =>
  `${formatCount(count)} ${count === 1 ? one : many}`
