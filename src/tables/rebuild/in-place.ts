import { sql } from 'kysely'
import { linkTable, type Model, tableName } from '../../model/model.ts'
import {
  type ConcurrentCopyDialect,
  type Database,
  type OwnReference,
  Refused,
  type TableState,
} from '../../storage/storage.ts'
import { columnType, encode } from '../columns.ts'
import { convert } from '../convert.ts'
import { columnComments, columnDefinition, foreignKeyFor, quote, storableLiteral } from '../ddl.ts'
import { execute } from '../execute.ts'
import { linkFields, linkTarget } from '../links.ts'
import type { Rebuild, Source } from '../plan-rebuild.ts'
import { storedRows } from '../stored-rows.ts'
import { cannotConvert } from '../verify.ts'
import { createAgain } from './made-by-hand.ts'

/**
 * Changes columns in place, in the one transaction of the migration; reads and writes of the table wait for its end.
 * Used for tables with something that an operator has made by hand, which a new table would not have.
 */

/** Temporary column for converted values. No field can have this name. */
const NEW = 'dossier__new'

export async function rebuildInPlace(
  db: Database,
  model: Model,
  { sources, discarded, hidden }: Rebuild,
  dialect: ConcurrentCopyDialect,
): Promise<void> {
  const table = (await db.dialect.tables.readTable(db, tableName(model))) as TableState
  const alter = (what: string) => execute(db, `ALTER TABLE ${quote(table.name)} ${what}`)
  for (const { name } of table.indexes)
    if (name.startsWith(`${table.name}__`)) await execute(db, `DROP INDEX ${quote(name)}`)
  // Computed columns are dropped first: they depend on columns that change. One that becomes stored keeps its values.
  const kept = sources.map(({ column }) => column)
  for (const { name, generated } of table.columns)
    if (generated !== undefined)
      await alter(kept.includes(name) ? dialect.keepComputedValues(name) : `DROP COLUMN ${quote(name)}`)
  for (const { column } of discarded) await alter(`DROP COLUMN ${quote(column)}`)
  for (const source of sources) await migrateColumn(db, model, source)
  for (const { name, hasDefault } of hidden) if (hasDefault) await alter(`ALTER COLUMN ${quote(name)} DROP DEFAULT`)
  for (const field of model.fields.filter(({ computed }) => computed)) {
    await alter(`ADD COLUMN ${columnDefinition(field, model, db.dialect.tables)}`)
    for (const remark of columnComments(field, model, db.dialect.tables)) await execute(db, remark)
  }
  // An index that an operator created is dropped with a column that is converted.
  const { indexes } = (await db.dialect.tables.readTable(db, tableName(model))) as TableState
  for (const index of table.indexes)
    if (!index.name.startsWith(`${table.name}__`) && !indexes.some(({ name }) => name === index.name))
      await createAgain(db, { type: 'index', ...index })
}

/** Gives a field its column: adds one with the default, converts or renames another one, or keeps its own. */
async function migrateColumn(db: Database, model: Model, { field, column, from }: Source): Promise<void> {
  const table = quote(tableName(model))
  const name = quote(field.name)
  const type = db.dialect.tables.columnType(columnType(field))
  if (column === undefined) {
    await execute(db, `ALTER TABLE ${table} ADD COLUMN ${name} ${type}`)
    const value = encode(field, field.default)
    if (value !== null) await execute(db, `UPDATE ${table} SET ${name} = ${storableLiteral(field, value)}`)
  } else if (from !== undefined) {
    await execute(db, `ALTER TABLE ${table} ADD COLUMN ${quote(NEW)} ${type}`)
    await fillConverted(db, model, { field, column, from })
    await execute(db, `ALTER TABLE ${table} DROP COLUMN ${quote(column)}`)
    await execute(db, `ALTER TABLE ${table} RENAME COLUMN ${quote(NEW)} TO ${name}`)
  } else if (column !== field.name) await execute(db, `ALTER TABLE ${table} RENAME COLUMN ${quote(column)} TO ${name}`)
}

/** Converts a thousand records at a time, so that memory use stays constant. */
async function fillConverted(db: Database, model: Model, { field, column, from }: Required<Source>): Promise<void> {
  const table = sql.table(tableName(model))
  for await (const rows of storedRows(db, tableName(model), [column as string])) {
    const given = rows.flatMap(({ id, [column as string]: value }) => {
      if (value === null) return []
      const converted = convert(value as string | number, from as string, field)
      if (converted === undefined) throw new Refused([`${model.name}: ${cannotConvert(field, [id])}`])
      return [[id, converted]]
    })
    const value = db.dialect.jsonItem(sql`given.value`, 1, columnType(field))
    const id = db.dialect.jsonItem(sql`given.value`, 0, 'INTEGER')
    await sql`
      UPDATE ${table} SET ${sql.ref(NEW)} = ${value} FROM ${db.dialect.jsonEach(JSON.stringify(given))} AS given
      WHERE ${table}."id" = ${id}`.execute(db)
  }
}

/**
 * Adds, replaces and drops foreign keys until they match the model's references. Runs when all tables exist. With
 * `skipsCheck`, the database does not check stored values, because the caller does.
 */
export async function migrateForeignKeys(
  db: Database,
  model: Model,
  dialect: ConcurrentCopyDialect,
  skipsCheck: boolean,
): Promise<void> {
  const table = tableName(model)
  const kept = new Map<string, OwnReference>()
  for (const key of await dialect.readReferences(db, table)) {
    const reference = model.fields.find(({ name }) => name === key.column)?.reference
    const wanted = reference && foreignKeyFor(reference)
    const isWanted = wanted?.table === key.table && wanted.onDelete === key.onDelete && !kept.has(key.column)
    if (isWanted) kept.set(key.column, key)
    else await execute(db, dialect.dropReference(table, key.name))
  }
  await renameKeys(db, table, [...kept.values()], dialect)
  for (const { name, reference } of model.fields) {
    if (!reference || kept.has(name)) continue
    const wanted = foreignKeyFor(reference)
    await execute(db, dialect.addReference(table, name, wanted.table, wanted.onDelete, skipsCheck))
  }
}

/** Adds the foreign keys of new link tables. What they hold has been checked. */
export async function addLinkKeys(db: Database, model: Model, dialect: ConcurrentCopyDialect): Promise<void> {
  for (const field of linkFields(model)) {
    const link = linkTable(model, field)
    const there = (await dialect.readReferences(db, link)).map(({ column }) => column)
    for (const [column, table, onDelete] of [
      ['record', tableName(model), 'CASCADE'],
      ['target', linkTarget(field), 'NO ACTION'],
    ] as const)
      if (!there.includes(column)) await execute(db, dialect.addReference(link, column, table, onDelete, true))
  }
}

/** Gives keys the names of their columns, which may have been renamed; two columns may have changed names. */
async function renameKeys(db: Database, table: string, keys: OwnReference[], dialect: ConcurrentCopyDialect) {
  const misnamed = keys.filter(({ name, column }) => name !== dialect.referenceName(table, column))
  const between = (nth: number) => `dossier_${nth}__refers`
  for (const [nth, { name }] of misnamed.entries())
    await execute(db, dialect.renameReference(table, name, between(nth)))
  for (const [nth, { column }] of misnamed.entries())
    await execute(db, dialect.renameReference(table, between(nth), dialect.referenceName(table, column)))
}
