import { type RawBuilder, sql } from 'kysely'
import { findFormat } from '../model/formats.ts'
import { type Field, isText, type Model } from '../model/model.ts'
import { decimalKey } from '../storage/decimal.ts'
import type { Dialect, Row, SqlValue, TableDialect } from '../storage/storage.ts'
import { indexedTexts, orderColumn } from './order-columns.ts'

/**
 * Dossier's type name for a field's column. The name tells an operator at a shell what the column means, and lets the
 * planner detect that a field's type has changed.
 */
export function columnType(field: Field): string {
  if (field.links) return LINKS
  if (field.type === 'integer') return 'INTEGER'
  if (field.type === 'number') return 'REAL'
  if (field.type === 'boolean') return 'BOOLEAN'
  if (field.type === 'array' || field.type === 'object') return `${field.type.toUpperCase()}_TEXT`
  const meaning = findFormat(field.format)?.column
  return meaning ? `${meaning}_TEXT` : 'TEXT'
}

/** Type name of a column with the ids of several records. */
export const LINKS = 'LINKS_TEXT'

/** The distinct column types of some fields. */
export const columnTypes = (fields: Field[]): string[] => [...new Set(fields.map(columnType))]

/** Converts a valid value of a field to the form that its column holds. */
export function encode(field: Field, value: unknown): SqlValue {
  if (value === null || value === undefined) return null
  if (field.type === 'boolean') return value === true ? 1 : 0
  if (field.type === 'array' || field.type === 'object') return JSON.stringify(value)
  if (field.type === 'string') return findFormat(field.format)?.canonical?.(value as string) ?? (value as string)
  return value as number
}

/** SQL expression by which a column is compared exactly: the column itself, except for decimals. */
export function comparisonSql(field: Field, dialect: TableDialect): string {
  const column = `"${field.name}"`
  return field.format === 'decimal' ? dialect.decimalKey(column) : column
}

/** Converts a value to the form that `comparisonSql` yields. */
export function encodeComparable(field: Field, value: unknown): SqlValue {
  const encoded = encode(field, value)
  return field.format === 'decimal' && encoded !== null ? decimalKey(encoded as string) : encoded
}

/** SQL expression by which a field is sorted, and compared by `<` and `>`. */
export function orderSql(field: Field, model: Model, dialect: TableDialect): string {
  if (!isText(field)) return comparisonSql(field, dialect)
  return indexedTexts(model).has(field.name) && dialect.keepsOrderKeys
    ? `"${orderColumn(field.name)}"`
    : dialect.orderKey(`"${field.name}"`)
}

/** A value of a filter in the form that `orderSql` yields. */
export function encodeOrder(field: Field, value: unknown, dialect: Dialect): RawBuilder<unknown> {
  const encoded = encodeComparable(field, value)
  return isText(field) ? dialect.orderValue(encoded as string) : sql`${encoded}`
}

/** Returns a function that converts a stored row to a record, in place. Most columns need no conversion. */
export function createRowDecoder(model: Model): (row: Row) => Row {
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

/** Encodes only the fields that were sent: on update, the others keep their values. */
export function encodePresent(fields: Field[], data: Row): Record<string, SqlValue> {
  const values: Record<string, SqlValue> = {}
  for (const field of fields) if (Object.hasOwn(data, field.name)) values[field.name] = encode(field, data[field.name])
  return values
}
