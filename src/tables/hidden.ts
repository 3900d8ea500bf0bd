import { FORMATS, findFormat } from '../model/formats.ts'
import { type Field, isOfType, type Model, tableName } from '../model/model.ts'
import type { Database, Row, SqlValue } from '../storage/storage.ts'
import { encode } from './columns.ts'
import { convert } from './convert.ts'

/** Of what a record was, that which belongs into columns that no field has any more: it comes back with the record. */
export async function hiddenValues(db: Database, model: Model, state: Row): Promise<Row> {
  const known = ['id', 'version', ...model.fields.map(({ name }) => name)]
  const columns = await db.dialect.tables.readColumns(db, tableName(model))
  const values = columns
    // What was not set is not in there.
    .filter(({ name }) => !known.includes(name) && (state[name] ?? null) !== null)
    .map(({ name, type }) => [name, storedAs(hiddenField(name, type), state[name])] as const)
  return Object.fromEntries(values.filter(([, value]) => value !== null))
}

/** The types of fields, by the words for their columns. */
const TYPES: Record<string, Field['type']> = {
  INTEGER: 'integer',
  REAL: 'number',
  BOOLEAN: 'boolean',
  ARRAY_TEXT: 'array',
  OBJECT_TEXT: 'object',
}

/** A field that a column could be of. */
function hiddenField(name: string, word: string): Field {
  const format = Object.keys(FORMATS).find((one) => `${FORMATS[one]?.column}_TEXT` === word)
  return { name, type: TYPES[word] ?? 'string', ...(format && { format }) } as Field
}

/** A value from the journal as a column holds it: as it is, or converted, or null where that would lose something. */
function storedAs(field: Field, value: unknown): SqlValue {
  const isRight = isOfType(field, value) && (findFormat(field.format)?.validate?.(value as string) ?? true)
  if (isRight) return encode(field, value)
  return convert(...plain(value), field) ?? null
}

/** What a column of its own would hold, and the word for the type of that. */
function plain(value: unknown): [string | number, string] {
  if (typeof value === 'boolean') return [Number(value), 'BOOLEAN']
  return typeof value === 'object' ? [JSON.stringify(value), 'OBJECT_TEXT'] : [value as string | number, 'TEXT']
}
