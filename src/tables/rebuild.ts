import { CompiledQuery, sql } from 'kysely'
import type { Database } from '../database/database.ts'
import { type Model, tableOf } from '../model/model.ts'
import { convert } from './convert.ts'
import { createTable, quote } from './ddl.ts'
import type { Rebuild } from './plan.ts'
import type { TableState } from './state.ts'
import { storedValues } from './verify.ts'

const DRAFT = 'dossier_rebuild'

/**
 * SQLite's own procedure for changes that ALTER TABLE cannot make: fill a new table, drop the old one, take its name.
 * It has to run with foreign keys off, or dropping the old table would delete what refers to it.
 */
export async function rebuildTable(db: Database, model: Model, table: TableState, rebuild: Rebuild): Promise<void> {
  const run = (text: string) => db.executeQuery(CompiledQuery.raw(text))
  const name = quote(tableOf(model))
  await run(createTable(model, DRAFT, rebuild.hidden))
  const copied = ['id', 'version', ...rebuild.kept, ...rebuild.hidden.map((column) => column.name)]
    .map(quote)
    .join(', ')
  await run(`INSERT INTO ${quote(DRAFT)} (${copied}) SELECT ${copied} FROM ${name}`)
  for (const { field, from } of rebuild.conversions) {
    for await (const { id, value } of storedValues(db, tableOf(model), field.name)) {
      const converted = convert(value, from, field)
      await db
        .updateTable(DRAFT)
        .set({ [field.name]: converted })
        .where('id', '=', id)
        .execute()
    }
  }
  const { rows } = await sql<{ seq: number }>`SELECT seq FROM sqlite_sequence WHERE name = ${tableOf(model)}`.execute(
    db,
  )
  await run(`DROP TABLE ${name}`)
  await run(`ALTER TABLE ${quote(DRAFT)} RENAME TO ${name}`)
  // The highest id ever given away: none is used again, even if its record is gone.
  await sql`DELETE FROM sqlite_sequence WHERE name = ${tableOf(model)}`.execute(db)
  await sql`INSERT INTO sqlite_sequence (name, seq) VALUES (${tableOf(model)}, ${rows[0]?.seq ?? 0})`.execute(db)
  // Ours are in the plan; those that somebody made by hand went with the old table.
  for (const index of table.indexes.filter((index) => !index.name.startsWith(`${tableOf(model)}__`)))
    await run(index.sql)
}
