import { FORMATS } from './formats.ts'
import type { Field } from './model.ts'

/** What may stand on the right of a comparison with a field, in words. */
const WANTED: Record<string, string> = {
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  string: 'a text',
  date: 'a date such as 2024-02-29',
  time: 'a time such as 10:30:00Z',
  'date-time': 'a moment such as 2024-02-29T10:30:00Z',
  decimal: 'a decimal number such as 12.50',
}

export type Parsed = { value: string | number | boolean } | { wanted: string }

/** A value from a query string, which is always text, typed by the field it is compared with. */
export function parseText(field: Field, text: string): Parsed {
  if (field.type === 'integer' && /^-?\d{1,16}$/.test(text)) return parseValue(field, Number(text))
  if (field.type === 'number' && /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(text)) return parseValue(field, Number(text))
  if (field.type === 'boolean' && (text === 'true' || text === 'false')) return { value: text === 'true' }
  return parseValue(field, text)
}

/** A value from a JSON body: it must have the field's type already. */
export function parseValue(field: Field, value: unknown): Parsed {
  const fits =
    (field.type === 'integer' && Number.isSafeInteger(value)) ||
    (field.type === 'number' && Number.isFinite(value)) ||
    (field.type === 'boolean' && typeof value === 'boolean') ||
    (field.type === 'string' && typeof value === 'string' && (FORMATS[field.format ?? '']?.validate(value) ?? true))
  if (fits) return { value: value as string | number | boolean }
  return { wanted: (WANTED[field.format ?? ''] ?? WANTED[field.type]) as string }
}
