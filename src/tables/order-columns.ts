import { type RawBuilder, sql } from 'kysely'
import { KEY_SUFFIX } from '../lib/order-key.ts'
import { type Field, isText, type Model, tableName, unrestrictedModel } from '../model/model.ts'
import type { Database, TableColumn, TableDialect, Trigger } from '../storage/storage.ts'

/**
 * Texts with an index are sorted by a key (`lib/order-key.ts`). PostgreSQL has indexes on the expression. In SQLite
 * such an index would need a function that a database shell lacks, so that nothing could be changed there. So the
 * service writes the keys into columns of their own. Triggers note the records whose texts have changed without their
 * keys, at a shell or because a referred record was deleted: `storage/sqlite/order-key.ts` makes their keys.
 */

/** Ends the name of a column whose keys are not up to date. The next rebuild of the table leaves it out. */
const UNUSED_SUFFIX = '__sort0'

export const orderColumn = (field: string) => `${field}${KEY_SUFFIX}`
const unusedColumn = (field: string) => `${field}${UNUSED_SUFFIX}`

/** Whether a column holds keys, of whatever version. No field's name has `__`. */
export const isOrderColumn = (name: string) => /__sort\d+$/.test(name)

/** The texts of a model that an index has. */
export function indexedTexts(model: Model): Set<string> {
  const cached = texts.get(model)
  if (cached) return cached
  const { unique, indexes, fields } = unrestrictedModel(model)
  const named = new Set([...unique, ...indexes].flat())
  const found = new Set(fields.filter((field) => isText(field) && named.has(field.name)).map(({ name }) => name))
  texts.set(model, found)
  return found
}

const texts = new WeakMap<Model, Set<string>>()

/** The fields whose keys have a column. */
export const fieldsWithKey = (model: Model, { keepsOrderKeys }: TableDialect): Field[] =>
  keepsOrderKeys ? unrestrictedModel(model).fields.filter(({ name }) => indexedTexts(model).has(name)) : []

/** Statements for the columns with keys, if the table is not rebuilt, and the fields whose keys have to be made. */
export function planOrderColumns(
  model: Model,
  columns: TableColumn[],
  renames: { from: string; to: string }[],
  dialect: TableDialect,
): { alter: string[]; toFill: Field[] } {
  // SQLite compares names of columns without case.
  const has = (name: string) => columns.some((column) => column.name.toLowerCase() === name.toLowerCase())
  const rename = (from: string, to: string) => `RENAME COLUMN "${from}" TO "${to}"`
  const wanted = fieldsWithKey(model, dialect)
  const earlierName = ({ name }: Field) => renames.find(({ to }) => to === name)?.from ?? name
  const moved = wanted.filter((field) => has(orderColumn(earlierName(field))))
  const toFill = wanted.filter((field) => !moved.includes(field))
  const kept = moved.map((field) => orderColumn(earlierName(field)).toLowerCase())
  const outdated = columns
    .map(({ name }) => name)
    .filter((name) => isOrderColumn(name) && !name.endsWith(UNUSED_SUFFIX) && !kept.includes(name.toLowerCase()))
  const unused = outdated.map((name) => ({ name, to: name.replace(/\d+$/, '0') }))
  const alter = [
    ...unused.filter(({ to }) => has(to)).map(({ to }) => `DROP COLUMN "${to}"`),
    ...unused.map(({ name, to }) => rename(name, to)),
    ...moved
      .filter((field) => earlierName(field) !== field.name)
      .map((field) => rename(orderColumn(earlierName(field)), orderColumn(field.name))),
    ...toFill.map(({ name }) =>
      has(unusedColumn(name)) || unused.some(({ to }) => to.toLowerCase() === unusedColumn(name).toLowerCase())
        ? rename(unusedColumn(name), orderColumn(name))
        : `ADD COLUMN ${orderColumnDefinition(name, dialect)}`,
    ),
  ]
  return { alter: alter.map((what) => `ALTER TABLE "${tableName(model)}" ${what}`), toFill }
}

export const orderColumnDefinition = (field: string, dialect: TableDialect) =>
  `"${orderColumn(field)}" ${dialect.columnType('TEXT')}`

/** Statement that makes the keys of records. */
export const fillOrderColumns = (table: string, fields: string[]) =>
  `UPDATE "${table}" SET ${fields.map((name) => `"${orderColumn(name)}" = dossier_order_key("${name}")`).join(', ')}`

/** Makes the keys of some records. */
export async function fillKeys(db: Database, model: Model, table: string, where: RawBuilder<unknown>): Promise<void> {
  const fields = fieldsWithKey(model, db.dialect.tables).map(({ name }) => name)
  if (fields.length > 0) await sql`${sql.raw(fillOrderColumns(table, fields))} WHERE ${where}`.execute(db)
}

/** Triggers that note records whose text was changed without its key. */
export function orderTriggers(model: Model, dialect: TableDialect): Trigger[] {
  const fields = fieldsWithKey(model, dialect).map(({ name }) => name)
  if (fields.length === 0) return []
  const table = tableName(model)
  const conditions = {
    INSERT: fields.map((name) => `NEW."${name}" IS NOT NULL AND NEW."${orderColumn(name)}" IS NULL`),
    UPDATE: fields.map(
      (name) => `NEW."${name}" IS NOT OLD."${name}" AND NEW."${orderColumn(name)}" IS OLD."${orderColumn(name)}"`,
    ),
  }
  return (['INSERT', 'UPDATE'] as const).map((event) => {
    const name = orderTrigger(table, event)
    const body = `INSERT INTO dossier_unsorted (tbl, id) SELECT '${table}', NEW."id" WHERE ${conditions[event].join(' OR ')} ON CONFLICT DO NOTHING`
    return { name, sql: dialect.trigger({ name, when: 'AFTER', event, on: table, body }) }
  })
}

const orderTrigger = (table: string, event: string) => `${table}__${event.toLowerCase()}__sorted`

/** Names of the triggers that a table may have. */
export const orderTriggerNames = (table: string) => ['insert', 'update'].map((event) => orderTrigger(table, event))
