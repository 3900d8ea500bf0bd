import { inexactNumbers, isExact, repeatedKey } from '../lib/json-numbers.ts'
import { findFormat } from '../model/formats.ts'
import { type Field, MAX_LINKS } from '../model/model.ts'
import { decimalKey } from '../storage/decimal.ts'
import { LINKS } from './columns.ts'

/** Converts a stored value of column type `from` to the form that a field's column holds; undefined if lossy. */
export function convert(value: string | number, from: string, field: Field): string | number | null | undefined {
  if (field.links) return toLinks(value, from)
  if (from === LINKS && field.type === 'integer') return toOnlyLink(value as string)
  if (field.type === 'string') return toText(value, from, field)
  if (field.type === 'integer') return toInteger(value)
  if (field.type === 'number') return toNumber(value)
  if (field.type === 'boolean') return toBoolean(value)
  return toDocument(value, from, field.type)
}

function toText(value: string | number, from: string, { format: name }: Field): string | undefined {
  const text = from === 'BOOLEAN' ? String(value === 1) : String(value)
  // Only midnight is dropped. Any other time of day would be lost: `validate` rejects the text, which still has it.
  const plain = from === 'DATETIME_TEXT' && name === 'date' ? text.replace('T00:00:00.000Z', '') : text
  const format = findFormat(name)
  if (!format?.validate) return plain
  // Dates with time, and times, are stored to the millisecond: a later digit other than 0 would be lost.
  if (!format.validate(plain) || /\.\d{3}\d*[1-9]/.test(format.canonical ? plain : '')) return undefined
  return format.canonical?.(plain) ?? plain
}

function toInteger(value: string | number): number | undefined {
  const number = Number(value)
  return Number.isSafeInteger(number) && String(number) === String(value) ? number : undefined
}

/** A text becomes a number if it means the same number: "1.50" does, "0.10000000000000000001" does not. */
function toNumber(value: string | number): number | undefined {
  if (typeof value === 'number') return value
  const isDecimal = findFormat('decimal')?.validate as (text: string) => boolean
  const number = Number(value)
  if (!isDecimal(value) || !isDecimal(String(number))) return undefined
  return decimalKey(String(number)) === decimalKey(value) && isExact(value) ? number : undefined
}

function toBoolean(value: string | number): number | undefined {
  if (value === 0 || value === 'false') return 0
  return value === 1 || value === 'true' ? 1 : undefined
}

/** One id becomes an array of it. */
function toLinks(value: string | number, from: string): string | undefined {
  if (from === 'INTEGER') return toLinks(`[${value}]`, 'ARRAY_TEXT')
  const text = from === 'ARRAY_TEXT' || from === LINKS ? (value as string) : toDocument(value, from, 'array')
  const ids: unknown[] = text === undefined ? [undefined] : JSON.parse(text)
  const areIds = ids.every((id) => Number.isSafeInteger(id) && (id as number) > 0)
  return areIds && new Set(ids).size === ids.length && ids.length <= MAX_LINKS ? JSON.stringify(ids) : undefined
}

/** The only id of several references, null if there is none; undefined if there are more, because none may be lost. */
function toOnlyLink(text: string): number | null | undefined {
  const [id, ...more] = JSON.parse(text) as number[]
  return more.length > 0 ? undefined : (id ?? null)
}

function toDocument(value: string | number, from: string, type: string): string | undefined {
  if (from === LINKS && type === 'array') return value as string
  if (from !== 'TEXT') return undefined
  const text = value as string
  try {
    const document = JSON.parse(text)
    const fits = typeof document === 'object' && document !== null && Array.isArray(document) === (type === 'array')
    if (!fits || inexactNumbers(text, 1).length > 0 || repeatedKey(text) !== undefined) return undefined
    return JSON.stringify(document)
  } catch {
    // A text that is not JSON is no document.
    return undefined
  }
}
