import { isSame } from './merge.ts'
import type { Row, Schema } from './model.ts'
import { toLocal, toUtc } from './values.ts'

/** What stands in the inputs of a form, as it was typed: it becomes a value only when it is sent. */
export type Raw = string | string[] | { [name: string]: Raw }

export type Kind =
  | 'reference'
  | 'choice'
  | 'choices'
  | 'yes-no'
  | 'number'
  | 'text'
  | 'long'
  | 'date'
  | 'moment'
  | 'list'
  | 'group'
  | 'json'

type Asked = Schema & { reference?: string }
type Parts = Record<string, Schema>

/** Texts longer than this are written in more than one line. */
const LINE = 200

/** Which input is right for a value. */
export function inputKind(schema: Asked): Kind {
  if (schema.reference !== undefined) return 'reference'
  if (schema.enum || schema.const !== undefined) return 'choice'
  if (schema.type === 'boolean') return 'yes-no'
  if (schema.type === 'integer' || schema.type === 'number') return 'number'
  if (schema.type === 'array') return listKind(schema.items ?? {})
  if (schema.type === 'object') return isFlat(schema) ? 'group' : 'json'
  if (schema.format === 'date') return 'date'
  if (schema.format === 'date-time') return 'moment'
  return schema.format === undefined && (schema.maxLength ?? 0) > LINE ? 'long' : 'text'
}

function listKind(items: Schema): Kind {
  if (items.enum) return 'choices'
  return items.type === 'string' || items.type === 'integer' || items.type === 'number' ? 'list' : 'json'
}

/** Only an object whose parts are all known and plain can be asked for part by part. */
const isFlat = ({ properties }: Schema) =>
  properties !== undefined &&
  Object.values(properties).every((part) => !['json', 'group', 'list', 'choices'].includes(inputKind(part)))

export const choices = (schema: Schema): unknown[] => schema.enum ?? [schema.const]

/** Whether what was typed can stand in such an input: the model may have changed meanwhile. */
export function fits(schema: Asked, raw: Raw): boolean {
  const kind = inputKind(schema)
  if (kind === 'list' || kind === 'choices') return Array.isArray(raw)
  if (kind === 'group')
    return (
      typeof raw === 'object' &&
      !Array.isArray(raw) &&
      Object.keys(raw).every((name) => Object.hasOwn(schema.properties as Parts, name))
    )
  if (kind === 'choice') return raw === '' || choices(schema).some((value) => JSON.stringify(value) === raw)
  if (kind === 'yes-no') return raw === '' || raw === 'true' || raw === 'false'
  return typeof raw === 'string'
}

/** A value → what stands in its input. */
export function toRaw(schema: Asked, value: unknown, zone: string): Raw {
  const kind = inputKind(schema)
  if (kind === 'group') {
    return Object.fromEntries(
      Object.entries(schema.properties as Parts).map(([name, part]) => [name, toRaw(part, rawPart(value, name), zone)]),
    )
  }
  if (kind === 'list' || kind === 'choices')
    return ((value ?? []) as unknown[]).map((item) => (kind === 'list' ? String(item) : JSON.stringify(item)))
  if (value === null || value === undefined) return ''
  if (kind === 'choice') return JSON.stringify(value)
  if (kind === 'json') return JSON.stringify(value, null, 2)
  if (kind === 'moment') return toLocal(String(value), zone)
  if (kind === 'reference' && typeof value === 'object') return String((value as Row).id)
  return String(value)
}

/** A name may also be that of something that every object has. */
const rawPart = (value: unknown, name: string) =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined

export type Read = { value: unknown } | { fault: string }

/**
 * What stands in an input → a value, or why it is none. What the model thinks of it, the service says. With the value that
 * was there before, what the input cannot show of it stays.
 */
export function readRaw(schema: Asked & { isRequired?: boolean }, raw: Raw, zone: string, before?: unknown): Read {
  const kind = inputKind(schema)
  if (kind === 'group') return parseGroup(schema, raw as Record<string, Raw>, zone, before)
  if (kind === 'list' || kind === 'choices') return parseList(schema, raw as string[], kind, zone)
  const text = raw as string
  if (text === '') return { value: null }
  if (kind === 'choice') return { value: JSON.parse(text) }
  if (kind === 'yes-no') return { value: text === 'true' }
  if (kind === 'number' || kind === 'reference') return parseNumber(text.trim(), schema.type === 'number')
  if (kind === 'moment') return { value: toUtc(text, zone) }
  if (schema.format === 'decimal' && !/^-?\d+(?:\.\d+)?$/.test(text))
    return { fault: 'is no decimal number; write it as 12.50' }
  if (kind !== 'json') return { value: keepLineEnds(before, text) }
  try {
    return { value: JSON.parse(text) }
  } catch (error) {
    return { fault: `is not JSON: ${(error as Error).message}` }
  }
}

/** Parts that nobody has touched stay as they were, whether the model knows them or not. */
function parseGroup(
  schema: Asked & { isRequired?: boolean },
  raw: Record<string, Raw>,
  zone: string,
  before: unknown,
): Read {
  const value: Record<string, unknown> = { ...(before as object | undefined) }
  for (const [name, part] of Object.entries(schema.properties as Parts)) {
    const typed = Object.hasOwn(raw, name) ? (raw[name] as Raw) : ''
    if (isUnchanged(part, typed, rawPart(before, name), zone)) continue
    const read = readRaw(part, typed, zone, rawPart(before, name))
    if ('fault' in read) return { fault: `${part.title ?? name} ${read.fault}` }
    if (read.value === null) delete value[name]
    else value[name] = read.value
  }
  return { value: Object.keys(value).length === 0 && !schema.isRequired ? null : value }
}

/** Browsers know only one end of lines; a text that was written with another keeps it. */
const keepLineEnds = (before: unknown, text: string) =>
  typeof before === 'string' && before.includes('\r\n') ? text.replace(/\r?\n/g, '\r\n') : text

function parseList(schema: Schema & { isRequired?: boolean }, raw: string[], kind: Kind, zone: string): Read {
  const items: unknown[] = []
  for (const [index, text] of raw.entries()) {
    const read = kind === 'choices' ? { value: JSON.parse(text) } : parseItem(schema.items as Schema, text, zone)
    if ('fault' in read) return { fault: `${read.fault} (in line ${index + 1})` }
    items.push(read.value)
  }
  return { value: items.length === 0 && !schema.isRequired ? null : items }
}

/** An empty line of a list of texts is an empty text: it stands among others. */
const parseItem = (items: Schema, text: string, zone: string): Read =>
  items.type === 'string' ? { value: text } : text === '' ? { fault: 'is missing' } : readRaw(items, text, zone)

function parseNumber(text: string, isReal: boolean): Read {
  const number = Number(text)
  if (!/^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(text) || !Number.isFinite(number))
    return { fault: 'is not a number; write it as 1234.5' }
  if (!isReal && !Number.isInteger(number)) return { fault: 'is not a whole number' }
  if (plainDigits(text) !== plainDigits(String(number))) return { fault: 'has more digits than can be kept exactly' }
  return { value: number }
}

/** `1.50e3` and `1500` are the same: their digits without the zeros around them, and where the point is. */
function plainDigits(text: string): string {
  const [mantissa = '', exponent = '0'] = text.toLowerCase().replace(/^[+-]/, '').split('e')
  const [whole = '', fraction = ''] = mantissa.split('.')
  const digits = (whole + fraction).replace(/^0+/, '')
  const significant = digits.replace(/0+$/, '')
  if (significant === '') return '0'
  return `${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`
}

/** Whether what stands in an input is what the record had; ends of lines are the browser's own. */
export const isUnchanged = (schema: Asked, raw: Raw, before: unknown, zone: string): boolean =>
  isSame(plainLines(raw), plainLines(toRaw(schema, before, zone)))

function plainLines(raw: Raw): Raw {
  if (typeof raw === 'string') return raw.replace(/\r\n?/g, '\n')
  if (Array.isArray(raw)) return raw.map((item) => plainLines(item) as string)
  return Object.fromEntries(Object.entries(raw).map(([name, part]) => [name, plainLines(part)]))
}
