import { inexactNumbers, isExact, repeatedKey } from '../lib/json-numbers.ts'
import { findFormat } from '../model/formats.ts'
import type { Field } from '../model/model.ts'
import { decimalKey } from '../storage/decimal.ts'

/** Converts a stored value of column type `from` to the form that a field's column holds; undefined if lossy. */
export function convert(value: string | number, from: string, field: Field): string | number | undefined {
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

function toDocument(value: string | number, from: string, type: string): string | undefined {
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
