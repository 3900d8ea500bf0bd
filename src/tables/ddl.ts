import { hash } from 'node:crypto'
import { type Field, type Model, type Reference, type Template, tableName } from '../model/model.ts'
import { literal, type SqlValue, type TableDialect } from '../storage/storage.ts'
import { columnType, comparable } from './columns.ts'

/** The SQL text that tables are made of. Names come from checked models only; values are written as literals. */

export interface Index {
  name: string
  unique: boolean
  fields: string[]
}

export const quote = (name: string) => `"${name}"`

/** The value of a field, encoded, as it is written into a statement; a truth is one to every engine. */
export const storable = ({ type }: Field, value: SqlValue) =>
  type === 'boolean' && value !== null ? `(1 = ${value})` : literal(value)

const itself = (table: string) => table

/** Columns that have no field are kept with their data. */
export function createTable(
  model: Model,
  dialect: TableDialect,
  name = tableName(model),
  hidden: { name: string; type: string }[] = [],
  parentName = itself,
): string {
  const columns = [
    ...dialect.systemColumns,
    ...model.fields.map((field) => columnDefinition(field, model, dialect, parentName)),
    ...hidden.map((column) => `${quote(column.name)} ${dialect.columnType(column.type)}`),
  ]
  const remarks = model.fields.flatMap((field) => commentsOn(field, model, dialect, name))
  return [`CREATE TABLE ${quote(name)} (${columns.join(', ')})`, ...remarks].join('; ')
}

/** What is kept beside a computed column. */
export function commentsOn(field: Field, model: Model, dialect: TableDialect, table = tableName(model)): string[] {
  return field.computed ? dialect.comment(table, field.name, columnDefinition(field, model, dialect)) : []
}

/** Without a default: what a field starts with is what its file says now, and is written with every record. */
export function columnDefinition(field: Field, model: Model, dialect: TableDialect, parentName = itself): string {
  const start = `${quote(field.name)} ${dialect.columnType(columnType(field))}`
  if (field.computed) return `${start} ${dialect.generated(computedExpression(field.computed, model, dialect))}`
  if (!field.reference) return start
  const { table, onDelete } = foreignKeyFor(field.reference)
  return `${start} ${dialect.refersTo(parentName(table), onDelete)}`
}

/** A restrict is checked at the end of the statement, so that a cascade may take both records at once. */
const ON_DELETE = { restrict: 'NO ACTION', clear: 'SET NULL', cascade: 'CASCADE' }

export function foreignKeyFor({ model, onDelete }: Reference): { table: string; onDelete: string } {
  return { table: tableName({ name: model }), onDelete: ON_DELETE[onDelete] }
}

/** What a write has to know of a table: which columns there are, and what they hold. Every write is guarded by it. */
export function tableShape(model: Model): string {
  const known = shapes.get(model)
  if (known !== undefined) return known
  const columns = model.fields.filter((field) => !field.computed).map((field) => `${field.name} ${columnType(field)}`)
  const shape = hash('sha256', columns.sort().join('\n')).slice(0, 16)
  shapes.set(model, shape)
  return shape
}

const shapes = new WeakMap<Model, string>()

/** Of an index that is made while one of its name is still there. */
export const twinIndex = (index: Index): Index => ({ ...index, name: `${index.name}__again` })

export const hasIndexName = (index: Index, name: string | undefined) =>
  name === index.name || name === twinIndex(index).name

export function createIndex(index: Index, model: Model, dialect: TableDialect, table = tableName(model)): string {
  const fields = index.fields.map((name) => model.fields.find((field) => field.name === name) as Field)
  const columns = fields.map((field) => dialect.indexed(comparable(field, dialect))).join(', ')
  return `CREATE ${index.unique ? 'UNIQUE ' : ''}INDEX ${quote(index.name)} ON ${quote(table)} (${columns})`
}

/** Every index a model wants. Field names have no `__`, so a name tells which fields it covers. */
export function modelIndexes(model: Model): Index[] {
  const named = (fields: string[], unique: boolean): Index => ({
    name: [tableName(model), ...fields, unique ? 'unique' : 'index'].join('__'),
    unique,
    fields,
  })
  const ownRows = Object.values(model.access).some((rules) => rules.some(({ own }) => own))
  const all = [
    ...model.unique.map((fields) => named(fields, true)),
    ...model.indexes.map((fields) => named(fields, false)),
    // Without one, every delete of a record would scan all that may refer to it.
    ...model.fields.filter((field) => field.reference).map((field) => named([field.name], false)),
    // Who reaches only their own records finds them without going through everybody's.
    ...(ownRows ? [named(['createdBy'], false)] : []),
  ]
  return [...new Map(all.map((index) => [index.name, index])).values()]
}

/**
 * Parts that are null or empty vanish with the spaces before them; what is left is trimmed, so the spaces after a
 * vanished first part go as well. If all parts are null, so is the whole.
 */
export function computedExpression(template: Template, model: Model, dialect: TableDialect): string {
  let spaces = ''
  const pieces: string[] = []
  const isThere: string[] = []
  for (const part of template) {
    if ('text' in part) {
      const text = (spaces + part.text).trimEnd()
      spaces = part.text.slice(part.text.trimEnd().length)
      if (text !== '') pieces.push(literal(text))
    } else {
      const field = model.fields.find(({ name }) => name === part.field) as Field
      const value = dialect.asText(quote(field.name), field.type)
      isThere.push(`${value} <> ''`)
      pieces.push(spaces === '' ? `coalesce(${value}, '')` : `coalesce(${literal(spaces)} || nullif(${value}, ''), '')`)
      spaces = ''
    }
  }
  return `CASE WHEN ${isThere.join(' OR ')} THEN trim(${pieces.join(' || ')}) END`
}
