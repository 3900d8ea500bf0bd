import type { Template } from '../model/model.ts'
import { type Field, type Model, tableOf } from '../model/model.ts'
import { columnType, encode, type SqlValue } from './columns.ts'

/** The SQL text that tables are made of. Names come from checked models only; values are written as literals. */

export interface Index {
  name: string
  unique: boolean
  fields: string[]
}

export const quote = (name: string) => `"${name}"`

const literal = (value: SqlValue) => (typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value))

/** AUTOINCREMENT: an id is never used again, even after a delete and a restart. */
const SYSTEM_COLUMNS = ['"id" INTEGER PRIMARY KEY AUTOINCREMENT', '"version" INTEGER NOT NULL DEFAULT 0']

export function createTable(model: Model): string {
  const columns = [...SYSTEM_COLUMNS, ...model.fields.map((field) => columnDefinition(field, model))]
  return `CREATE TABLE ${quote(tableOf(model))} (${columns.join(', ')})`
}

/** A default stands in the column too, so that the rows of a table that gets a new column have it. */
export function columnDefinition(field: Field, model: Model): string {
  const start = `${quote(field.name)} ${columnType(field)}`
  if (field.computed) return `${start} GENERATED ALWAYS AS (${computedExpression(field.computed, model)}) VIRTUAL`
  return field.default === undefined ? start : `${start} DEFAULT ${literal(encode(field, field.default))}`
}

export function createIndex(index: Index, model: Model): string {
  const columns = index.fields.map(quote).join(', ')
  return `CREATE ${index.unique ? 'UNIQUE ' : ''}INDEX ${quote(index.name)} ON ${quote(tableOf(model))} (${columns})`
}

/** Every index a model wants. Field names have no `__`, so a name tells which fields it covers. */
export function indexesOf(model: Model): Index[] {
  const named = (fields: string[], unique: boolean): Index => ({
    name: [tableOf(model), ...fields, unique ? 'unique' : 'index'].join('__'),
    unique,
    fields,
  })
  const all = [
    ...model.unique.map((fields) => named(fields, true)),
    ...model.indexes.map((fields) => named(fields, false)),
  ]
  return [...new Map(all.map((index) => [index.name, index])).values()]
}

/**
 * Parts that are null or empty vanish with the spaces before them; what is left is trimmed, so the spaces after a
 * vanished first part go as well. If all parts are null, so is the whole.
 */
export function computedExpression(template: Template, model: Model): string {
  let spaces = ''
  const pieces: string[] = []
  const values: string[] = []
  for (const part of template) {
    if ('text' in part) {
      const text = (spaces + part.text).trimEnd()
      spaces = part.text.slice(part.text.trimEnd().length)
      if (text !== '') pieces.push(literal(text))
    } else {
      const field = model.fields.find(({ name }) => name === part.field) as Field
      const value = `nullif(${asText(field)}, '')`
      values.push(value)
      pieces.push(spaces === '' ? `coalesce(${value}, '')` : `coalesce(${literal(spaces)} || ${value}, '')`)
      spaces = ''
    }
  }
  return `CASE WHEN coalesce(${values.join(', ')}, NULL) IS NOT NULL THEN trim(${pieces.join(' || ')}) END`
}

function asText(field: Field): string {
  const column = quote(field.name)
  if (field.type === 'boolean') return `iif(${column}, 'true', iif(${column} IS NULL, NULL, 'false'))`
  // %.15g: 5 and not 5.0, 0.1 and not 0.1000000000000000055.
  if (field.type === 'number') return `iif(${column} IS NULL, NULL, printf('%.15g', ${column}))`
  return column
}
