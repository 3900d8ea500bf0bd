import { CompiledQuery, sql } from 'kysely'
import { type Model, tableOf } from '../model/model.ts'
import type { Database } from '../storage/storage.ts'
import { encode } from './columns.ts'
import { convert } from './convert.ts'
import { createTable, literal, quote } from './ddl.ts'
import type { Rebuild, Source } from './plan-rebuild.ts'
import type { TableState } from './state.ts'
import { storedRows } from './verify.ts'

const DRAFT = 'dossier_rebuild'

/**
 * SQLite's own procedure for changes that ALTER TABLE cannot make: fill a new table, drop the old one, take its name.
 * It has to run with foreign keys off, or dropping the old table would delete what refers to it.
 */
export async function rebuildTable(db: Database, model: Model, table: TableState, rebuild: Rebuild): Promise<void> {
  const run = (text: string) => db.executeQuery(CompiledQuery.raw(text))
  const name = quote(tableOf(model))
  await run(createTable(model, DRAFT, rebuild.hidden))
  const plain = rebuild.sources.filter(({ from }) => from === undefined)
  const hidden = rebuild.hidden.map((column) => quote(column.name))
  const into = [quote('id'), quote('version'), ...plain.map(({ field }) => quote(field.name)), ...hidden]
  const from = [quote('id'), quote('version'), ...plain.map(sourceSql), ...hidden]
  await run(`INSERT INTO ${quote(DRAFT)} (${into.join(', ')}) SELECT ${from.join(', ')} FROM ${name}`)
  for (const source of rebuild.sources) if (source.from !== undefined) await convertColumn(db, model, source)
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

/** What is not set stays so; only a field that is new starts with its default. */
function sourceSql({ field, column }: Source): string {
  return column === undefined ? literal(encode(field, field.default)) : quote(column)
}

/** A statement for a thousand records at a time: one for each would take twenty times as long. */
async function convertColumn(db: Database, model: Model, { field, column = '', from = '' }: Source): Promise<void> {
  const update = `
    UPDATE ${quote(DRAFT)} SET ${quote(field.name)} = pair.value ->> 1
    FROM json_each(?) AS pair WHERE ${quote(DRAFT)}."id" = pair.value ->> 0`
  for await (const rows of storedRows(db, tableOf(model), [column])) {
    const set = rows.filter((row) => row[column] !== null)
    const pairs = set.map(({ id, [column]: value }) => [id, convert(value as string | number, from, field)])
    await db.executeQuery(CompiledQuery.raw(update, [JSON.stringify(pairs)]))
  }
}
