import { FORMATS, findFormat } from '../model/formats.ts'
import { type Field, isOfType, type Model, tableName } from '../model/model.ts'
import type { Database, Row, SqlValue } from '../storage/storage.ts'
import { encode, LINKS } from './columns.ts'
import { convert } from './convert.ts'

/** Values of a former state for columns that no field has any more: a restored record gets them back. */
export async function hiddenValues(db: Database, model: Model, state: Row): Promise<Row> {
  const fieldNames = ['id', 'version', ...model.fields.map(({ name }) => name)]
  const columns = await db.dialect.tables.readColumns(db, tableName(model))
  const values = columns
    // `state` may lack values that were not set.
    .filter(({ name }) => !fieldNames.includes(name) && (state[name] ?? null) !== null)
    .map(({ name, type }) => [name, storedAs(hiddenField(name, type), state[name])] as const)
  return Object.fromEntries(values.filter(([, value]) => value !== null))
}

/** Field types by type name of the column; all others are strings. */
const TYPES: Record<string, Field['type']> = {
  INTEGER: 'integer',
  REAL: 'number',
  BOOLEAN: 'boolean',
  ARRAY_TEXT: 'array',
  [LINKS]: 'array',
  OBJECT_TEXT: 'object',
}

/** A field that would have such a column. */
function hiddenField(name: string, typeName: string): Field {
  const format = Object.keys(FORMATS).find((one) => `${FORMATS[one]?.column}_TEXT` === typeName)
  return { name, type: TYPES[typeName] ?? 'string', ...(format && { format }) } as Field
}

/** A journal value in the form that the column holds: as it is, converted, or null if the conversion would be lossy. */
function storedAs(field: Field, value: unknown): SqlValue {
  const isRight = isOfType(field, value) && (findFormat(field.format)?.validate?.(value as string) ?? true)
  if (isRight) return encode(field, value)
  return convert(...plain(value), field) ?? null
}

/** A value in stored form with the type name of such a column: the first arguments of `convert`. */
function plain(value: unknown): [string | number, string] {
  if (typeof value === 'boolean') return [Number(value), 'BOOLEAN']
  return typeof value === 'object' ? [JSON.stringify(value), 'OBJECT_TEXT'] : [value as string | number, 'TEXT']
}
