import { CompiledQuery, sql } from 'kysely'
import { type Model, type Reference, tableOf } from '../model/model.ts'
import type { Database } from '../storage/storage.ts'
import { quote } from './ddl.ts'

/** Triggers that mark which records of a table change while its draft is filled, whoever changes them: also a shell. */

export const draftName = (model: Model) => `dossier_draft__${tableOf(model)}`

const MARK = 'INSERT INTO dossier_marks (tbl, id)'

export async function watch(db: Database, model: Model): Promise<void> {
  const table = tableOf(model)
  const noted = (...ids: string[]) => ids.map((id) => `${MARK} VALUES ('${table}', ${id}."id");`).join(' ')
  const bodies = { INSERT: noted('NEW'), UPDATE: noted('OLD', 'NEW'), DELETE: noted('OLD') }
  for (const [event, body] of Object.entries(bodies)) await create(db, [table, event], `AFTER ${event} ON`, table, body)
  for (const [target, columns] of await targetsOf(db, model)) {
    // The draft has foreign keys as well: what it has copied must not hold up the delete of what that refers to.
    const draft = quote(draftName(model))
    const refers = columns.map((column) => `${column} = OLD."id"`).join(' OR ')
    const set = columns.map((column) => `${column} = nullif(${column}, OLD."id")`).join(', ')
    const body = `${MARK} SELECT '${table}', "id" FROM ${draft} WHERE ${refers}; UPDATE ${draft} SET ${set} WHERE ${refers};`
    await create(db, [table, target], 'BEFORE DELETE ON', target, body)
  }
}

/** The tables that are there and that the model refers to, with the columns that do. */
async function targetsOf(db: Database, model: Model): Promise<[string, string[]][]> {
  const byTarget = Map.groupBy(
    model.fields.filter((field) => field.reference),
    (field) => tableOf({ name: (field.reference as Reference).model }),
  )
  const { rows } = await sql<{ name: string }>`SELECT name FROM sqlite_schema WHERE type = 'table'`.execute(db)
  const there = new Set(rows.map(({ name }) => name))
  return [...byTarget]
    .filter(([target]) => there.has(target))
    .map(([target, fields]) => [target, fields.map(({ name }) => quote(name))])
}

const create = (db: Database, words: string[], when: string, on: string, body: string) =>
  db.executeQuery(
    CompiledQuery.raw(`CREATE TRIGGER ${quote([...words, 'draft'].join('__'))} ${when} ${quote(on)} BEGIN ${body} END`),
  )

/** The drafts that there are, by their names. */
export async function readDrafts(db: Database): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB 'dossier_draft__*'`.execute(db)
  return rows.map(({ name }) => name)
}

export async function unwatch(db: Database): Promise<void> {
  const { rows } = await sql<{ name: string }>`
    SELECT name FROM sqlite_schema WHERE type = 'trigger' AND name GLOB '*__draft'`.execute(db)
  for (const { name } of rows) await db.executeQuery(CompiledQuery.raw(`DROP TRIGGER ${quote(name)}`))
}
