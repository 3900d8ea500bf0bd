import { sql } from 'kysely'
import { type Model, tableName } from '../../model/model.ts'
import { type Database, DRAFT_PREFIX } from '../../storage/storage.ts'
import { quote } from '../ddl.ts'
import { execute } from '../execute.ts'

/** Triggers that mark which records of a table change while its draft is filled, whoever changes them: also a shell. */

export const draftName = (model: Model) => `${DRAFT_PREFIX}${tableName(model)}`

export async function watch(db: Database, model: Model): Promise<void> {
  const table = tableName(model)
  const noted = (...rows: string[]) =>
    rows.map((row) => `INSERT INTO dossier_marks (tbl, id) VALUES ('${table}', ${row}."id");`).join(' ')
  const bodies = { INSERT: noted('NEW'), UPDATE: noted('OLD', 'NEW'), DELETE: noted('OLD') }
  for (const [event, body] of Object.entries(bodies)) {
    const name = quote(`${table}__${event}__draft`)
    await execute(db, `CREATE TRIGGER ${name} AFTER ${event} ON ${quote(table)} BEGIN ${body} END`)
  }
}

/** The drafts that there are, by their names. */
export async function readDrafts(db: Database): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB ${`${DRAFT_PREFIX}*`}`.execute(db)
  return rows.map(({ name }) => name)
}

export async function unwatch(db: Database): Promise<void> {
  const { rows } = await sql<{ name: string }>`
    SELECT name FROM sqlite_schema WHERE type = 'trigger' AND name GLOB '*__draft'`.execute(db)
  for (const { name } of rows) await execute(db, `DROP TRIGGER ${quote(name)}`)
}
