import { findFormat } from '../model/formats.ts'
import type { Field, Model } from '../model/model.ts'
import { decimalKey } from '../storage/decimal.ts'
import type { Row, SqlValue, TableDialect } from '../storage/storage.ts'

/**
 * The house's words for the types of columns. They say what a column means, to a person at the database's shell and to the
 * planner, which sees from them that a field's type has changed.
 */
export function columnType(field: Field): string {
  if (field.type === 'integer') return 'INTEGER'
  if (field.type === 'number') return 'REAL'
  if (field.type === 'boolean') return 'BOOLEAN'
  if (field.type === 'array' || field.type === 'object') return `${field.type.toUpperCase()}_TEXT`
  const meaning = findFormat(field.format)?.column
  return meaning ? `${meaning}_TEXT` : 'TEXT'
}

/** The column types of some fields, each once. */
export const columnTypes = (fields: Field[]): string[] => [...new Set(fields.map(columnType))]

/** A valid value of a field → what its column holds. */
export function encode(field: Field, value: unknown): SqlValue {
  if (value === null || value === undefined) return null
  if (field.type === 'boolean') return value === true ? 1 : 0
  if (field.type === 'array' || field.type === 'object') return JSON.stringify(value)
  if (field.type === 'string') return findFormat(field.format)?.canonical?.(value as string) ?? (value as string)
  return value as number
}

/** What a stored column is compared, sorted and indexed by, as SQL text: itself, but for decimals. */
export function comparable(field: Field, dialect: TableDialect): string {
  const column = `"${field.name}"`
  return field.format === 'decimal' ? dialect.decimalKey(column) : column
}

/** The counterpart of `comparable` for a value. */
export function encodeComparable(field: Field, value: unknown): SqlValue {
  const encoded = encode(field, value)
  return field.format === 'decimal' && encoded !== null ? decimalKey(encoded as string) : encoded
}

/** A stored row → a record. Made once per model: most columns need no work at all. */
export function rowDecoder(model: Model): (row: Row) => Row {
  const booleans = model.fields.filter((field) => field.type === 'boolean').map((field) => field.name)
  const documents = model.fields
    .filter((field) => field.type === 'array' || field.type === 'object')
    .map((field) => field.name)
  return (row) => {
    for (const name of booleans) if (name in row && row[name] !== null) row[name] = row[name] === 1
    for (const name of documents) if (typeof row[name] === 'string') row[name] = JSON.parse(row[name])
    return row
  }
}

/** Only what was sent: a field left out keeps its value on update. */
export function encodeSent(fields: Field[], data: Row): Record<string, SqlValue> {
  const values: Record<string, SqlValue> = {}
  for (const field of fields) if (Object.hasOwn(data, field.name)) values[field.name] = encode(field, data[field.name])
  return values
}
