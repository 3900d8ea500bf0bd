import { isExact } from '../lib/json-numbers.ts'
import { findFormat } from '../model/formats.ts'
import type { Field, FieldType } from '../model/model.ts'

/** Expected value of a comparison, for error messages. */
const WANTED: Record<FieldType, string> = {
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  string: 'a text',
  array: 'an array',
  object: 'an object',
}

export type Parsed = { value: string | number | boolean } | { wanted: string }

/** Parses a text of a query string by the type of the field that it is compared with. */
export function parseText(field: Field, text: string): Parsed {
  if (field.type === 'integer' && /^-?\d{1,16}$/.test(text)) return parseValue(field, Number(text))
  const isNumber = field.type === 'number' && /^-?\d{1,400}(?:\.\d{1,400})?(?:[eE][+-]?\d{1,4})?$/.test(text)
  if (isNumber && isExact(text)) return parseValue(field, Number(text))
  if (field.type === 'boolean' && (text === 'true' || text === 'false')) return { value: text === 'true' }
  return parseValue(field, text)
}

/** Checks a value of a JSON body: it must have the field's type already. */
export function parseValue(field: Field, value: unknown): Parsed {
  const format = findFormat(field.format)
  const fits =
    (field.type === 'integer' && Number.isSafeInteger(value)) ||
    (field.type === 'number' && Number.isFinite(value)) ||
    (field.type === 'boolean' && typeof value === 'boolean') ||
    (field.type === 'string' && typeof value === 'string' && (format?.validate?.(value) ?? true))
  if (fits) return { value: value as string | number | boolean }
  return { wanted: format?.wanted ?? WANTED[field.type] }
}
