import { type RawBuilder, sql } from 'kysely'
import { type Field, linkTable, type Model, type Reference, tableName } from '../model/model.ts'
import {
  type Database,
  Refused,
  type TableColumn,
  type TableDialect,
  type TableState,
  type Trigger,
} from '../storage/storage.ts'
import { columnType } from './columns.ts'
import { type Condition, is } from './condition.ts'
import { convert } from './convert.ts'
import { quote } from './ddl.ts'
import { execute } from './execute.ts'
import type { Source } from './plan-rebuild.ts'
import { findColumn, type Rename, type Takeover } from './plan-renames.ts'
import { listIds, MAX_NAMED, storedRows } from './stored-rows.ts'

/**
 * A field that refers to several records has their ids as an array in its column, as every array is stored. Triggers
 * keep a link table beside it, with a row for each id: its foreign keys make sure that the records exist, and its
 * indexes find the records that refer to one. It is derived from the column, so that it can be made anew at any time.
 */

export const linkFields = ({ fields }: Pick<Model, 'fields'>): Field[] => fields.filter(({ links }) => links)

export const linkTarget = ({ links }: Field) => tableName({ name: (links as Reference).model })

/** Condition for records of a model that refer by a field to one of the ids that a query selects. */
export function refersToOne(model: Model, field: Field, ids: RawBuilder<unknown>): Condition {
  if (!field.links) return is`${sql.ref(field.name)} IN (${ids})`
  return is`"id" IN (SELECT "record" FROM ${sql.table(linkTable(model, field))} WHERE "target" IN (${ids}))`
}

const COLUMNS = ['record', 'position', 'target']

/** Whether a table is as `createLinkTable` makes it. */
export const isLinkTable = ({ columns }: Pick<TableState, 'columns'>) =>
  columns.length === COLUMNS.length && columns.every(({ name }) => COLUMNS.includes(name))

/** CREATE TABLE of a link table. `parentName` maps the tables that foreign keys refer to. */
export function createLinkTable(
  model: Model,
  field: Field,
  dialect: TableDialect,
  name = linkTable(model, field),
  parentName = (table: string) => table,
): string {
  const column = (name: string) => `${quote(name)} ${dialect.columnType('INTEGER')} NOT NULL`
  const refers = (table: string, onDelete: string) => dialect.referencesClause(parentName(table), onDelete)
  const columns = [
    `${column('record')} ${refers(tableName(model), 'CASCADE')}`,
    column('position'),
    // Before a record is deleted, a trigger takes its id out where it may.
    `${column('target')} ${refers(linkTarget(field), 'NO ACTION')}`,
    'PRIMARY KEY ("record", "target")',
    'UNIQUE ("target", "record")',
  ]
  return `CREATE TABLE ${quote(name)} (${columns.join(', ')})${dialect.withoutRowid}`
}

/** Adds the links of the selected records of `table`, or of all. */
export async function fillLinks(
  db: Database,
  field: Field,
  link: string,
  table: string,
  selected = sql`1 = 1`,
): Promise<void> {
  const items = db.dialect.jsonEach(sql.ref(`holder.${field.name}`))
  await sql`
    INSERT INTO ${sql.table(link)} ("record", "position", "target")
    SELECT holder."id", item.key, CAST(item.value AS BIGINT) FROM ${sql.table(table)} AS holder, ${items} AS item
    WHERE holder."id" IN (SELECT "id" FROM ${sql.table(table)} WHERE ${selected})`.execute(db)
}

const EVENTS = ['INSERT', 'UPDATE'] as const

const linkTrigger = (table: string, event: string) => `${table}__${event.toLowerCase()}__linked`

/** Names of the triggers that keep a table's links. */
export const linkTriggerNames = (table: string) => EVENTS.map((event) => linkTrigger(table, event))

/** Triggers that keep the link tables of a model. A delete of a record cascades. */
export function linkTriggers(model: Model, dialect: TableDialect): Trigger[] {
  const fields = linkFields(model)
  if (fields.length === 0) return []
  const table = tableName(model)
  return EVENTS.map((event) => {
    const name = linkTrigger(table, event)
    const statements = fields.flatMap((field) => {
      const link = quote(linkTable(model, field))
      const column = quote(field.name)
      const hasChanged = event === 'INSERT' ? '1 = 1' : `OLD.${column} IS DISTINCT FROM NEW.${column}`
      const items = `FROM ${dialect.jsonEach(`NEW.${column}`)} AS item`
      // Links that stay are not written again: in PostgreSQL every new link locks the record that it leads to.
      const insert = `INSERT INTO ${link} AS link ("record", "position", "target")
        SELECT NEW."id", item.key, CAST(item.value AS BIGINT) ${items} WHERE ${hasChanged}`
      const gone = `DELETE FROM ${link} WHERE "record" = OLD."id" AND (${hasChanged})
        AND "target" NOT IN (SELECT CAST(item.value AS BIGINT) ${items})`
      const moved = `ON CONFLICT ("record", "target") DO UPDATE SET "position" = excluded."position"
        WHERE link."position" <> excluded."position"`
      return event === 'INSERT' ? [insert] : [gone, `${insert} ${moved}`]
    })
    const of = event === 'UPDATE' ? { of: fields.map((field) => field.name) } : {}
    return { name, sql: dialect.trigger({ name, when: 'AFTER', event, on: table, ...of, body: statements.join('; ') }) }
  })
}

/** Link tables to drop and to create. One that is created is filled from its column. */
export interface LinkChanges {
  drop: string[]
  create: Field[]
}

/** Compares link tables with a model. `columns` have the names that they get. */
export function planLinks(
  model: Model,
  links: TableState['links'],
  columns: TableColumn[],
  renames: Rename[],
  takeovers: Takeover[],
): LinkChanges {
  const isRight = (field: Field) =>
    findColumn(field, columns)?.type === columnType(field) &&
    !renames.some(({ to }) => to === field.name) &&
    !takeovers.some((takeover) => takeover.field === field) &&
    links.some(({ name, target }) => name === linkTable(model, field) && target === linkTarget(field))
  const create = linkFields(model).filter((field) => !isRight(field))
  const kept = linkFields(model)
    .filter(isRight)
    .map((field) => linkTable(model, field))
  return { drop: links.map(({ name }) => name).filter((name) => !kept.includes(name)), create }
}

export const describeLinks = ({ drop, create }: LinkChanges, model: Model, rows: number): string[] => [
  ...drop
    .filter((name) => !create.some((field) => linkTable(model, field) === name))
    .map((name) => `drop the link table ${name}`),
  ...create.map(({ name, links }) => `link ${name} to ${links?.model} (${rows} records)`),
]

/** Drops and creates link tables. One that a draft has is put in its place. */
export async function applyLinks(
  db: Database,
  model: Model,
  { drop, create }: LinkChanges,
  drafted: (field: Field) => string | undefined,
): Promise<void> {
  for (const name of drop) await execute(db, `DROP TABLE ${quote(name)}`)
  for (const field of create) {
    const link = linkTable(model, field)
    const draft = drafted(field)
    // A move between databases that was given up may have left one.
    await execute(db, `DROP TABLE IF EXISTS ${quote(link)}`)
    if (draft !== undefined) await execute(db, `ALTER TABLE ${quote(draft)} RENAME TO ${quote(link)}`)
    else {
      await execute(db, createLinkTable(model, field, db.dialect.tables))
      await fillLinks(db, field, link, tableName(model))
    }
  }
}

/** Throws `Refused` if links lead to records that do not exist. */
export async function refuseDanglingLinks(db: Database, model: Model, fields: Field[]): Promise<void> {
  for (const field of fields) {
    const [link, target] = [sql.table(linkTable(model, field)), sql.table(linkTarget(field))]
    const { rows } = await sql<{ record: number }>`
      SELECT DISTINCT "record" FROM ${link} AS link
      WHERE NOT EXISTS (SELECT 1 FROM ${target} AS target WHERE target."id" = link."target")
      ORDER BY 1 LIMIT ${MAX_NAMED + 1}`.execute(db)
    const ids = rows.map(({ record }) => record)
    if (ids.length > 0) throw new Refused([`${model.name}: ${wouldDangle(field, ids)}`])
  }
}

const wouldDangle = ({ name, links }: Field, ids: number[]) =>
  `"${name}" would refer to a ${links?.model} that does not exist, in the records ${listIds(ids)}.`

/** Why a column cannot become the source of links: the records whose ids do not exist. */
export async function verifyLinks(db: Database, model: Model, { field, column = '', from }: Source): Promise<string[]> {
  const target = await db.dialect.tables.readTable(db, linkTarget(field))
  const ids: number[] = []
  for await (const rows of storedRows(db, tableName(model), [column])) {
    const wanted = rows.flatMap(({ id, [column]: value }) => {
      const stored = value === null || from === undefined ? value : convert(value as string | number, from, field)
      return typeof stored === 'string' ? (JSON.parse(stored) as number[]).map((one) => [id, one] as const) : []
    })
    const missing = await missingIds(db, target?.name, [...new Set(wanted.map(([, one]) => one))])
    ids.push(...new Set(wanted.filter(([, one]) => missing.has(one)).map(([id]) => id)))
    if (ids.length > MAX_NAMED) break
  }
  return ids.length > 0 ? [wouldDangle(field, ids)] : []
}

async function missingIds(db: Database, table: string | undefined, ids: number[]): Promise<Set<number>> {
  if (table === undefined) return new Set(ids)
  const wanted = sql`SELECT CAST(value AS BIGINT) AS id FROM ${db.dialect.jsonEach(JSON.stringify(ids))} AS wanted`
  const { rows } = await sql<{ id: number }>`
    SELECT id FROM (${wanted}) AS wanted WHERE id NOT IN (SELECT "id" FROM ${sql.table(table)})`.execute(db)
  return new Set(rows.map(({ id }) => id))
}
