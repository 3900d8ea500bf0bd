import { type Field, linkTable, type Model, tableName } from '../../model/model.ts'
import { type Database, DRAFT_PREFIX } from '../../storage/storage.ts'
import { boundedName } from '../ddl.ts'
import { execute } from '../execute.ts'

/** Triggers that mark the records which change while a draft of their table is filled, also by hand in a shell. */

const SUFFIX = '__draft'

export const draftName = (model: Model) => boundedName(DRAFT_PREFIX, tableName(model))

export const draftLinkName = (model: Model, field: Field) => boundedName(DRAFT_PREFIX, linkTable(model, field))

export const isMarkTrigger = (name: string) => name.endsWith(SUFFIX)

export async function createMarkTriggers(db: Database, model: Model): Promise<void> {
  const table = tableName(model)
  const { trigger, createTrigger } = db.dialect.tables
  const mark = (...rows: string[]) =>
    rows.map((row) => `INSERT INTO dossier_marks (tbl, id) VALUES ('${table}', ${row}."id")`).join('; ')
  const bodies = { INSERT: mark('NEW'), UPDATE: mark('OLD', 'NEW'), DELETE: mark('OLD') }
  for (const event of ['INSERT', 'UPDATE', 'DELETE'] as const) {
    const name = `${table}__${event}${SUFFIX}`
    const sql = trigger({ name, when: 'AFTER', event, on: table, body: bodies[event] })
    await execute(db, createTrigger({ name, sql }))
  }
}

export async function dropMarkTriggers(db: Database): Promise<void> {
  const { readTriggers, dropTrigger } = db.dialect.tables
  for (const trigger of await readTriggers(db)) if (isMarkTrigger(trigger.name)) await execute(db, dropTrigger(trigger))
}
