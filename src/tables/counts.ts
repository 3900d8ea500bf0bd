import { sql } from 'kysely'
import { type Model, tableName } from '../model/model.ts'
import type { Database, Statement, Storage, TableDialect, Trigger } from '../storage/storage.ts'
import { execute } from './execute.ts'

/**
 * Triggers count the records in each block of 1,024 ids, in the transaction that changes them. The total is the sum of
 * the blocks, and an offset is found by going through them: both cost the same at a thousand records and a million.
 */
const BLOCK_BITS = 10

export function countTriggers(table: string, dialect: TableDialect): Trigger[] {
  const trigger = (event: 'INSERT' | 'DELETE', row: string, by: 1 | -1) => {
    const name = countTrigger(table, event)
    const body = dialect.countStatement(table, `${row}."id" >> ${BLOCK_BITS}`, by)
    return { name, sql: dialect.trigger({ name, when: 'AFTER', event, on: table, body }) }
  }
  return [trigger('INSERT', 'NEW', 1), trigger('DELETE', 'OLD', -1)]
}

const countTrigger = (table: string, event: string) => `${table}__${event.toLowerCase()}__count`

/** Names of a table's count triggers. */
export const countTriggerNames = (table: string) => ['INSERT', 'DELETE'].map((event) => countTrigger(table, event))

const actualCounts = (table: string) =>
  sql`SELECT CAST(${table} AS TEXT) AS tbl, "id" >> ${sql.raw(String(BLOCK_BITS))} AS block, count(*) AS live FROM ${sql.table(table)} GROUP BY 2`

/** Whether the stored counts differ from the actual ones: the table was changed by hand, without the triggers. */
export async function isMiscounted(db: Database, model: Model): Promise<boolean> {
  const actual = actualCounts(tableName(model))
  const kept = sql`
    SELECT tbl, block, sum(live) AS live FROM dossier_counts WHERE tbl = ${tableName(model)}
    GROUP BY tbl, block HAVING sum(live) <> 0`
  const { rows } = await sql<{ wrong: number }>`
    SELECT EXISTS (${actual} EXCEPT ${kept}) OR EXISTS (${kept} EXCEPT ${actual}) AS wrong`.execute(db)
  return rows[0]?.wrong === 1
}

export async function recount(db: Database, model: Model): Promise<void> {
  for (const text of db.dialect.tables.lockTable(tableName(model))) await execute(db, text)
  await sql`DELETE FROM dossier_counts WHERE tbl = ${tableName(model)}`.execute(db)
  await sql`INSERT INTO dossier_counts (tbl, block, live) ${actualCounts(tableName(model))}`.execute(db)
}

/** Totals of all tables, by name. */
export async function tableTotals(db: Database): Promise<Map<string, number>> {
  const { rows } = await sql<{ tbl: string; total: number }>`
    SELECT tbl, CAST(sum(live) AS BIGINT) AS total FROM dossier_counts GROUP BY tbl`.execute(db)
  return new Map(rows.map(({ tbl, total }) => [tbl, total]))
}

/** Total and offsets of one model's records, for finds. */
export function createCounter(storage: Storage, model: Model) {
  const table = tableName(model)
  const blocks: Statement = {
    sql: 'SELECT block, CAST(sum(live) AS BIGINT) AS live FROM dossier_counts WHERE tbl = ? GROUP BY block ORDER BY block',
    parameters: [table],
  }
  const sum: Statement = {
    sql: 'SELECT CAST(coalesce(sum(live), 0) AS BIGINT) AS total FROM dossier_counts WHERE tbl = ?',
    parameters: [table],
  }

  let cached = { snapshot: -1, total: Promise.resolve(0) }

  /** Finds in the same snapshot share one query. */
  function total(): Promise<number> {
    const snapshot = storage.snapshotId()
    if (cached.snapshot !== snapshot) cached = { snapshot, total: readTotal() }
    return cached.total
  }

  async function readTotal(): Promise<number> {
    const row = await storage.readOne(sum)
    return (row as { total: number }).total
  }

  /** Finds the record at an offset: it comes `skip` records after the first one with an id of at least `from`. */
  async function locate(offset: number): Promise<{ from: number; skip: number }> {
    let skip = offset
    for (const { block, live } of (await storage.read(blocks)) as { block: number; live: number }[]) {
      if (skip < live) return { from: block * 2 ** BLOCK_BITS, skip }
      skip -= live
    }
    return { from: Number.MAX_SAFE_INTEGER, skip: 0 }
  }

  return { total, locate }
}
