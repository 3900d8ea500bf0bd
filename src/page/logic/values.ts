import { fieldTitle } from '../../lib/field-title.ts'
import { language, say, sayForms } from '../language/say.ts'
import type { Schema } from './model.ts'

/** Formats values for display. */

/** How values are formatted for a user. */
export interface FormatSettings {
  /** time zone */
  zone: string
  /** language and country, such as `en-GB` */
  locale: string
}

export const NOTHING = '–'

/** Schema of sums and averages: they are numbers, or decimals as texts. */
export const AMOUNT: Schema = { format: 'decimal' }

export function formatValue(schema: Schema, value: unknown, formatSettings: FormatSettings): string {
  if (value === null || value === undefined) return NOTHING
  if (schema.titles && Object.hasOwn(schema.titles, String(value))) return schema.titles[String(value)] as string
  if (typeof value === 'boolean') return value ? say('yes') : say('no')
  if (schema.format === 'date-time') return formatMoment(String(value), formatSettings)
  if (schema.format === 'date') return formatDay(String(value), formatSettings)
  if (schema.format === 'time') return clockIn(String(value), formatSettings.zone)
  if (isPlainNumber(schema, value)) return formatNumber(value as string | number, formatSettings)
  if (Array.isArray(value) && value.every((item) => typeof item !== 'object'))
    return value.length === 0
      ? say('none')
      : value.map((item) => (item === '' ? '""' : formatValue(itemSchema(schema), item, formatSettings))).join(', ')
  return typeof value === 'object' ? formatObject(schema, value, formatSettings) : String(value)
}

/** The schema of an item. Titles of choices stand at the array. */
export const itemSchema = ({ items, titles }: Schema): Schema => ({ ...items, ...(titles && { titles }) })

/** Properties by their titles; what has no known properties, as JSON. */
function formatObject({ properties }: Schema, value: object, formatSettings: FormatSettings): string {
  if (!properties || Array.isArray(value)) return JSON.stringify(value)
  return Object.entries(value)
    .map(([name, part]) => {
      const known = Object.hasOwn(properties, name) ? (properties[name] as Schema) : {}
      return `${partTitle(name, known)}: ${formatValue(known, part, formatSettings)}`
    })
    .join(', ')
}

export const partTitle = (name: string, { title }: Schema = {}) => title ?? fieldTitle(name)

/** Ids and versions are numbers, but nobody counts with them. */
const isPlainNumber = (schema: Schema & { name?: string; reference?: string }, value: unknown) =>
  schema.reference === undefined &&
  schema.name !== 'id' &&
  schema.name !== 'version' &&
  (typeof value === 'number' || schema.format === 'decimal')

const numberFormats = new Map<string, Intl.NumberFormat>()

/** All digits that there are. Four digits without a fraction are not grouped: they may be a year. */
function formatNumber(value: string | number, { locale }: FormatSettings): string {
  const text = String(value)
  if (!/^-?\d+(?:\.\d+)?$/.test(text)) return text
  const digits = text.split('.')[1]?.length ?? 0
  const key = `${locale} ${digits}`
  const format =
    numberFormats.get(key) ??
    new Intl.NumberFormat(locale, {
      minimumFractionDigits: digits,
      maximumFractionDigits: digits,
      useGrouping: digits > 0 ? 'always' : 'min2',
    })
  numberFormats.set(key, format)
  // The text, because a decimal may have more digits than a number.
  return format.format(text as `${number}`)
}

/** The decimal sign of a locale. */
export const decimalSign = (locale: string): string => formatNumber('1.5', { locale, zone: '' }).slice(1, 2)

const dateFormats = new Map<string, Intl.DateTimeFormat>()

function dateFormat(locale: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = `${locale} ${JSON.stringify(options)}`
  const format = dateFormats.get(key) ?? new Intl.DateTimeFormat(locale, options)
  dateFormats.set(key, format)
  return format
}

/** A day as people write it: `12 Mar 2026`. */
export function formatDay(iso: string, { locale }: FormatSettings): string {
  const day = new Date(`${iso}T00:00:00Z`)
  return Number.isNaN(day.getTime()) ? iso : dateFormat(locale, { dateStyle: 'medium', timeZone: 'UTC' }).format(day)
}

/** A month as people write it: `2026-03` → `Mar 2026`. */
export function formatMonth(iso: string, { locale }: FormatSettings): string {
  const day = new Date(`${iso}-01T00:00:00Z`)
  const style = { month: 'short', year: 'numeric', timeZone: 'UTC' } as const
  return Number.isNaN(day.getTime()) ? iso : dateFormat(locale, style).format(day)
}

/** A moment as people write it, to the minute: `12 Mar 2026, 14:02`. */
export function formatMoment(iso: string, { locale, zone }: FormatSettings): string {
  const moment = new Date(iso)
  if (Number.isNaN(moment.getTime())) return iso
  return dateFormat(locale, { dateStyle: 'medium', timeStyle: 'short', timeZone: zone, hourCycle: 'h23' }).format(
    moment,
  )
}

/**
 * A time of day in a zone: `10:30`, with seconds only if there are any. It has no date, so the offset of today counts:
 * what was written in summer is an hour off in winter, as it is for everybody who reads UTC.
 */
export function clockIn(text: string, zone: string, today = isoToday()): string {
  const moment = momentIn(`${today}T${text}`, zone)
  return /^\d{4}-/.test(moment) && moment.length === 19 ? moment.slice(11).replace(/:00$/, '') : text
}

/** Inverse of `clockIn`. */
export function clockToUtc(text: string, zone: string, today = isoToday()): string {
  const utc = toUtc(`${today}T${text.length === 5 ? `${text}:00` : text}`, zone)
  return utc.endsWith('Z') ? utc.slice(11) : text
}

const isoToday = () => new Date().toISOString().slice(0, 10)

/** A moment in a zone, for programs: `2026-11-15 23:05:09`. */
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
  const [size, ago] = UNITS.find(([length]) => seconds >= length) ?? SECOND
  return ago(Math.floor(seconds / size))
}

type Unit = [seconds: number, ago: (count: number) => string]

const UNITS: Unit[] = [
  [31_557_600, (count) => plural(count, '{count} year ago', '{count} years ago')],
  [2_629_800, (count) => plural(count, '{count} month ago', '{count} months ago')],
  [86_400, (count) => plural(count, '{count} day ago', '{count} days ago')],
  [3600, (count) => plural(count, '{count} hour ago', '{count} hours ago')],
  [60, (count) => plural(count, '{count} minute ago', '{count} minutes ago')],
]
const SECOND: Unit = [1, (count) => plural(count, '{count} second ago', '{count} seconds ago')]

export function formatSize(bytes: number): string {
  const units = [say('bytes'), 'KB', 'MB', 'GB', 'TB']
  const step = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3))
  return `${(bytes / 1000 ** step).toFixed(step === 0 ? 0 : 1)} ${units[step]}`
}

const counts = new Intl.NumberFormat(language)
/** A number within a text of the page, as its language writes it. */
export const formatCount = (count: number) => counts.format(count)

export const plural = (count: number, one: string, many: string, values: Record<string, string | number> = {}) =>
  sayForms(count, one, many, { ...values, count: formatCount(count) })
