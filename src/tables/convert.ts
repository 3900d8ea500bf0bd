import { canonical, FORMATS } from '../model/formats.ts'
import type { Field } from '../model/model.ts'
import { decimalKey } from './decimal.ts'

/** A stored value of another column type as the column of a field would hold it; undefined if that would lose something. */
export function convert(value: string | number, from: string, field: Field): string | number | undefined {
  if (field.type === 'string') return toText(value, from, field)
  if (field.type === 'integer') return toInteger(value)
  if (field.type === 'number') return toNumber(value)
  if (field.type === 'boolean') return toBoolean(value)
  return toDocument(value, from, field.type)
}

function toText(value: string | number, from: string, { format }: Field): string | undefined {
  const text = from === 'BOOLEAN' ? String(value === 1) : String(value)
  // Midnight is what a day becomes; any other time would be lost.
  const plain = from === 'DATETIME_TEXT' && format === 'date' ? text.replace('T00:00:00.000Z', '') : text
  const check = FORMATS[format ?? '']
  if (!check) return plain
  return check.validate(plain) ? canonical(format, plain) : undefined
}

function toInteger(value: string | number): number | undefined {
  const number = Number(value)
  return Number.isSafeInteger(number) && String(number) === String(value) ? number : undefined
}

/** A text becomes a number if it means the same number: "1.50" does, "0.10000000000000000001" does not. */
function toNumber(value: string | number): number | undefined {
  if (typeof value === 'number') return value
  const number = Number(value)
  const decimal = FORMATS.decimal?.validate
  if (!decimal?.(value) || !decimal(String(number))) return undefined
  return decimalKey(String(number)) === decimalKey(value) ? number : undefined
}

function toBoolean(value: string | number): number | undefined {
  if (value === 0 || value === 'false') return 0
  return value === 1 || value === 'true' ? 1 : undefined
}

function toDocument(value: string | number, from: string, type: string): string | undefined {
  if (from !== 'TEXT') return undefined
  try {
    const document = JSON.parse(value as string)
    const isObject = typeof document === 'object' && document !== null
    return isObject && Array.isArray(document) === (type === 'array') ? JSON.stringify(document) : undefined
  } catch {
    // A text that is not JSON is no document.
    return undefined
  }
}
