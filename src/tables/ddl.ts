import { hash } from 'node:crypto'
import { type Field, type Model, type Reference, type Template, tableName, unrestrictedModel } from '../model/model.ts'
import { literal, type SqlValue, type TableDialect } from '../storage/storage.ts'
import { columnType, comparisonSql, orderSql } from './columns.ts'
import { fieldsWithKey, indexedTexts, orderColumnDefinition } from './order-columns.ts'

/** SQL text for tables and indexes. Names come from validated models or existing columns; values are literals. */

export interface IndexKey {
  unique: boolean
  fields: string[]
  /** whether texts are in the order of their keys, and not exact */
  isSorted?: boolean
}

export interface Index extends IndexKey {
  name: string
}

export const quote = (name: string) => `"${name}"`

/** An encoded value as SQL text. A boolean becomes `(1 = 1)` or `(1 = 0)`, a boolean in every engine. */
export const storableLiteral = ({ type }: Field, value: SqlValue) =>
  type === 'boolean' && value !== null ? `(1 = ${value})` : literal(value)

const itself = (table: string) => table

/** CREATE TABLE of a model. `hidden` columns have no field; `parentName` maps the tables that foreign keys refer to. */
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
    ...fieldsWithKey(model, dialect).map((field) => orderColumnDefinition(field.name, dialect)),
  ]
  const remarks = model.fields.flatMap((field) => columnComments(field, model, dialect, name))
  return [`CREATE TABLE ${quote(name)} (${columns.join(', ')})`, ...remarks].join('; ')
}

/** Statements that store the definition of a computed column as its comment, where the engine does not keep it. */
export function columnComments(field: Field, model: Model, dialect: TableDialect, table = tableName(model)): string[] {
  return field.computed ? dialect.storeDefinition(table, field.name, columnDefinition(field, model, dialect)) : []
}

/** A column has no DEFAULT: the default in the current model file is written with every new record. */
export function columnDefinition(field: Field, model: Model, dialect: TableDialect, parentName = itself): string {
  const start = `${quote(field.name)} ${dialect.columnType(columnType(field))}`
  if (field.computed) return `${start} ${dialect.generatedClause(computedExpression(field.computed, model, dialect))}`
  if (!field.reference) return start
  const { table, onDelete } = foreignKeyFor(field.reference)
  return `${start} ${dialect.referencesClause(parentName(table), onDelete)}`
}

/** NO ACTION is checked at the end of the statement, so that a cascade may delete both records. */
const ON_DELETE = { restrict: 'NO ACTION', clear: 'SET NULL', cascade: 'CASCADE' }

export function foreignKeyFor({ model, onDelete }: Reference): { table: string; onDelete: string } {
  return { table: tableName({ name: model }), onDelete: ON_DELETE[onDelete] }
}

/**
 * Hash of the names and types of a table's stored columns, and of whether it has a history, because ETags and kept
 * totals rely on the journal. Every write is rejected if the table's shape differs.
 */
export function tableShape(restricted: Model): string {
  const model = unrestrictedModel(restricted)
  const cached = shapes.get(model)
  if (cached !== undefined) return cached
  const columns = model.fields.filter((field) => !field.computed).map((field) => `${field.name} ${columnType(field)}`)
  if (!model.history) columns.push('no history')
  const shape = hash('sha256', columns.sort().join('\n')).slice(0, 16)
  shapes.set(model, shape)
  return shape
}

const shapes = new WeakMap<Model, string>()

/** A name of bounded length: a long one is replaced by its hash. PostgreSQL would cut it off. */
export const boundedName = (prefix: string, name: string, suffix = ''): string =>
  prefix.length + name.length + suffix.length <= MAX_NAME
    ? prefix + name + suffix
    : `${prefix || 'dossier_'}${hash('sha256', name).slice(0, 16)}${suffix}`

/** Longest name in any engine. */
const MAX_NAME = 63

/** An index under another name, created while the old table's index of the usual name exists. */
export const withAlternateName = (index: Index): Index => ({ ...index, name: boundedName('', index.name, '__again') })

export const hasIndexName = (index: Index, name: string | undefined) =>
  name === index.name || name === withAlternateName(index).name

export function createIndex(index: Index, model: Model, dialect: TableDialect, table = tableName(model)): string {
  const fields = index.fields.map((name) => model.fields.find((field) => field.name === name) as Field)
  const keySql = (field: Field) => (index.isSorted ? orderSql(field, model, dialect) : comparisonSql(field, dialect))
  const columns = fields.map((field) => dialect.indexKey(keySql(field))).join(', ')
  return `CREATE ${index.unique ? 'UNIQUE ' : ''}INDEX ${quote(index.name)} ON ${quote(table)} (${columns})`
}

/** All indexes of a model. Field names contain no `__`, so an index name identifies its fields. */
export function modelIndexes(model: Model, { orderVersion }: Pick<TableDialect, 'orderVersion'>): Index[] {
  const kind = ({ unique, isSorted }: IndexKey) => (unique ? 'unique' : isSorted ? `sort${orderVersion}` : 'index')
  return indexKeys(model).map((key) => ({ ...key, name: [tableName(model), ...key.fields, kind(key)].join('__') }))
}

/** The fields of each index of a model. */
export function indexKeys(restricted: Model): IndexKey[] {
  const model = unrestrictedModel(restricted)
  const hasText = (fields: string[]) => fields.some((name) => indexedTexts(model).has(name))
  const plain = (fields: string[]): IndexKey => ({ unique: false, fields })
  const sorted = (fields: string[]): IndexKey =>
    hasText(fields) ? { ...plain(fields), isSorted: true } : plain(fields)
  const ownRows = Object.values(model.access).some((rules) => rules.some(({ own }) => own))
  const all = [
    ...model.unique.map((fields) => ({ unique: true, fields })),
    // A unique index has the exact texts, which are in another order.
    ...[...model.unique.filter(hasText), ...model.indexes].map(sorted),
    // Without this index, every delete of a record would scan the tables that may refer to it.
    ...model.fields.filter((field) => field.reference).map((field) => plain([field.name])),
    // Users who may access only their own records find them without a scan of all records.
    ...(ownRows ? [plain(['createdBy'])] : []),
  ]
  return [...new Map(all.map((key) => [JSON.stringify(key), key])).values()]
}

/**
 * SQL expression of a computed field. A null or empty field is left out together with the spaces before it. The result
 * is trimmed, which also removes the spaces after a missing first field. If all fields are null or empty, it is null.
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
