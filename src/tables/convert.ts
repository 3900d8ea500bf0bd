import { inexactNumbers, isExact, repeatedKey } from '../lib/json-numbers.ts'
import { findFormat } from '../model/formats.ts'
import type { Field } from '../model/model.ts'
import { decimalKey } from '../storage/decimal.ts'

/** A stored value of another column type as the column of a field would hold it; undefined if that would lose something. */
export function convert(value: string | number, from: string, field: Field): string | number | undefined {
  if (field.type === 'string') return toText(value, from, field)
  if (field.type === 'integer') return toInteger(value)
  if (field.type === 'number') return toNumber(value)
  if (field.type === 'boolean') return toBoolean(value)
  return toDocument(value, from, field.type)
}

function toText(value: string | number, from: string, { format: name }: Field): string | undefined {
  const text = from === 'BOOLEAN' ? String(value === 1) : String(value)
  // Midnight is what a day becomes; any other time would be lost.
  const plain = from === 'DATETIME_TEXT' && name === 'date' ? text.replace('T00:00:00.000Z', '') : text
  const format = findFormat(name)
  if (!format?.validate) return plain
  // Moments are stored to the millisecond.
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
