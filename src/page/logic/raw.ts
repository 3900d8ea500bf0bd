import { plainNumber } from '../../lib/cell-text.ts'
import { isExact } from '../../lib/json-numbers.ts'
import { language, say } from '../language/say.ts'
import { isSame } from './merge.ts'
import type { Row, Schema } from './model.ts'
import { clockIn, clockToUtc, toLocal, toUtc } from './values.ts'

/** Content of an input as it was typed; converted to a value only when it is sent. */
export type Raw = string | string[] | { [name: string]: Raw }

export type InputKind =
  | 'reference'
  | 'references'
  | 'choice'
  | 'choices'
  | 'yes-no'
  | 'number'
  | 'text'
  | 'long'
  | 'date'
  | 'moment'
  | 'clock'
  | 'list'
  | 'group'
  | 'json'

type Asked = Schema & { reference?: string }
type Parts = Record<string, Schema>

/** Begins what was typed to find a record and names none yet. */
const UNRESOLVED = '?'
export const unresolvedReference = (typed: string) => `${UNRESOLVED}${typed}`
/** The typed text of a reference that names no record yet. */
export const unresolvedReferenceText = (raw: string) => (raw.startsWith(UNRESOLVED) ? raw.slice(1) : undefined)

/** Texts that may be longer than this get an input of several lines. */
const LINE = 200

/** Kind of input for a schema. */
export function inputKind(schema: Asked): InputKind {
  if (schema.reference !== undefined) return 'reference'
  if (schema.enum || schema.const !== undefined) return 'choice'
  if (schema.type === 'boolean') return 'yes-no'
  if (schema.type === 'integer' || schema.type === 'number') return 'number'
  if (schema.type === 'array') return listKind(schema.items ?? {})
  if (schema.type === 'object') return isFlat(schema) ? 'group' : 'json'
  if (schema.format === 'date') return 'date'
  if (schema.format === 'date-time') return 'moment'
  if (schema.format === 'time') return 'clock'
  return schema.format === undefined && (schema.maxLength ?? 0) > LINE ? 'long' : 'text'
}

function listKind(items: NonNullable<Schema['items']>): InputKind {
  if (items.reference !== undefined) return 'references'
  if (items.enum) return 'choices'
  return items.type === 'string' || items.type === 'integer' || items.type === 'number' ? 'list' : 'json'
}

/** Kinds of inputs for values that consist of others. */
export const STRUCTURED_KINDS: InputKind[] = ['json', 'group', 'list', 'choices', 'references']

/** Only an object whose properties are all known and simple gets one input per property. */
const isFlat = ({ properties }: Schema) =>
  properties !== undefined && Object.values(properties).every((part) => !STRUCTURED_KINDS.includes(inputKind(part)))

export const choices = (schema: Schema): unknown[] => schema.enum ?? [schema.const]

const isListKind = (kind: InputKind) => kind === 'list' || kind === 'choices' || kind === 'references'

/** Whether typed content fits the input of a schema: the model may have changed since. */
export function fits(schema: Asked, raw: Raw): boolean {
  const kind = inputKind(schema)
  if (isListKind(kind)) return Array.isArray(raw)
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

/** Converts a value to the content of its input. */
export function toRaw(schema: Asked, value: unknown, zone: string): Raw {
  const kind = inputKind(schema)
  if (kind === 'group') {
    return Object.fromEntries(
      Object.entries(schema.properties as Parts).map(([name, part]) => [name, toRaw(part, rawPart(value, name), zone)]),
    )
  }
  if (isListKind(kind))
    return ((value ?? []) as unknown[]).map((item) => {
      if (kind === 'choices') return JSON.stringify(item)
      return kind === 'list' && typeof item === 'number' ? numberText(item) : String(item)
    })
  if (value === null || value === undefined) return ''
  if (kind === 'choice') return JSON.stringify(value)
  if (kind === 'json') return JSON.stringify(value, null, 2)
  if (kind === 'moment') return toLocal(String(value), zone)
  if (kind === 'clock') return clockIn(String(value), zone)
  if (kind === 'reference' && typeof value === 'object') return String((value as Row).id)
  return kind === 'number' || schema.format === 'decimal' ? numberText(value) : String(value)
}

/** A number as it is typed in a language. */
export const numberText = (value: unknown, of = language): string =>
  of === 'de' ? String(value).replace('.', ',') : String(value)

/** Uses `hasOwn`, because a property may be called like one that every object inherits. */
const rawPart = (value: unknown, name: string) =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined

export type Read = { value: unknown } | { fault: string }

/**
 * Converts the content of an input to a value, or returns why that is impossible. Whether the value satisfies the model
 * is checked by the service. `before` supplies the parts of the previous value that the input cannot show.
 */
export function readRaw(schema: Asked & { isRequired?: boolean }, raw: Raw, zone: string, before?: unknown): Read {
  const kind = inputKind(schema)
  if (kind === 'group') return parseGroup(schema, raw as Record<string, Raw>, zone, before)
  if (isListKind(kind)) return parseList(schema, raw as string[], kind, zone)
  const text = raw as string
  if (text === '') return { value: null }
  if (kind === 'reference' && unresolvedReferenceText(text) !== undefined)
    return { fault: say('names no record: choose one from the list') }
  if (kind === 'choice') return { value: JSON.parse(text) }
  if (kind === 'yes-no') return { value: text === 'true' }
  if (kind === 'number' || kind === 'reference') return parseNumber(text.trim(), schema.type === 'number')
  if (kind === 'moment') return { value: toUtc(text, zone) }
  if (kind === 'clock') return { value: clockToUtc(text, zone) }
  if (schema.format === 'decimal') return parseDecimal(text)
  if (kind !== 'json') return { value: keepLineEnds(before, text) }
  try {
    return { value: JSON.parse(text) }
  } catch (error) {
    return { fault: say('is not JSON: {reason}', { reason: (error as Error).message }) }
  }
}

/** Untouched properties keep their previous value, whether the model knows them or not. */
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

/** Browsers normalise line ends to LF; a text that had CRLF gets them back. */
const keepLineEnds = (before: unknown, text: string) =>
  typeof before === 'string' && before.includes('\r\n') ? text.replace(/\r?\n/g, '\r\n') : text

function parseList(schema: Schema & { isRequired?: boolean }, raw: string[], kind: InputKind, zone: string): Read {
  const items: unknown[] = []
  for (const [index, text] of raw.entries()) {
    const read = kind === 'choices' ? { value: JSON.parse(text) } : parseItem(schema.items as Schema, text, zone)
    if ('fault' in read)
      return {
        fault:
          kind === 'references' ? read.fault : say('{fault} (in line {line})', { fault: read.fault, line: index + 1 }),
      }
    items.push(read.value)
  }
  return { value: items.length === 0 && !schema.isRequired ? null : items }
}

/** An empty line in a list of texts is an empty text. */
const parseItem = (items: Schema, text: string, zone: string): Read =>
  items.type === 'string' ? { value: text } : text === '' ? { fault: say('is missing') } : readRaw(items, text, zone)

const UNCLEAR = say('may be a thousand or a fraction: leave out the sign between thousands')

/**
 * In German a comma is before the fraction, and a point is between thousands: `1.234` would be taken for another number
 * than is meant.
 */
export function typedNumber(typed: string, of = language): string | undefined {
  if (of === 'de' && /^\s*[+-]?[1-9]\d{0,2}\.\d{3}\s*$/.test(typed)) return undefined
  return of === 'de' && !typed.includes('.') ? plainNumber(typed, 'comma') : plainNumber(typed)
}

function parseDecimal(typed: string): Read {
  const text = typedNumber(typed)
  if (text === undefined) return { fault: UNCLEAR }
  return /^-?\d+(?:\.\d+)?$/.test(text) ? { value: text } : { fault: say('is no decimal number; write it as 12.50') }
}

function parseNumber(typed: string, isReal: boolean): Read {
  const text = typedNumber(typed)
  if (text === undefined) return { fault: UNCLEAR }
  const number = Number(text)
  if (!/^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(text) || !Number.isFinite(number))
    return { fault: say('is not a number; write it as 1234.5') }
  if (!isReal && !Number.isInteger(number)) return { fault: say('is not a whole number') }
  if (!isExact(text.replace(/^\+/, ''))) return { fault: say('has more digits than can be kept exactly') }
  return { value: number }
}

/** Whether an input still has the record's value; line ends are ignored, because browsers normalise them. */
export const isUnchanged = (schema: Asked, raw: Raw, before: unknown, zone: string): boolean =>
  isSame(plainLines(raw), plainLines(toRaw(schema, before, zone)))

function plainLines(raw: Raw): Raw {
  if (typeof raw === 'string') return raw.replace(/\r\n?/g, '\n')
  if (Array.isArray(raw)) return raw.map((item) => plainLines(item) as string)
  return Object.fromEntries(Object.entries(raw).map(([name, part]) => [name, plainLines(part)]))
}
