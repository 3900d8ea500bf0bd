import { type CompiledQuery, sql } from 'kysely'
import { type Database, selectNow, selectOne } from '../database/database.ts'
import { type Model, tableOf } from '../model/model.ts'
import type { Trigger } from './ddl.ts'

/**
 * How many records live in each block of 1,024 ids, kept by triggers in the very transaction that changes them. The total
 * is the sum of the blocks, and an offset is found by walking them: both cost the same at a thousand records and a million.
 */
const BLOCK_BITS = 10

export async function createCounts(db: Database): Promise<void> {
  await sql`
    CREATE TABLE IF NOT EXISTS dossier_counts (
      tbl TEXT NOT NULL, block INTEGER NOT NULL, live INTEGER NOT NULL, PRIMARY KEY (tbl, block)
    ) WITHOUT ROWID`.execute(db)
}

export function countTriggers(model: Model): Trigger[] {
  const table = tableOf(model)
  const trigger = (event: 'insert' | 'delete', body: string): Trigger => {
    const name = `${table}__${event}__count`
    return { name, sql: `CREATE TRIGGER "${name}" AFTER ${event.toUpperCase()} ON "${table}" BEGIN ${body}; END` }
  }
  return [
    trigger(
      'insert',
      `INSERT INTO dossier_counts VALUES ('${table}', NEW."id" >> ${BLOCK_BITS}, 1) ON CONFLICT DO UPDATE SET live = live + 1`,
    ),
    trigger(
      'delete',
      `UPDATE dossier_counts SET live = live - 1 WHERE tbl = '${table}' AND block = OLD."id" >> ${BLOCK_BITS}`,
    ),
  ]
}

/** Counts a table anew. Returns whether what was kept was wrong. */
export async function recount(db: Database, model: Model): Promise<boolean> {
  const table = tableOf(model)
  const actual = sql`SELECT ${table} AS tbl, "id" >> ${sql.raw(String(BLOCK_BITS))} AS block, count(*) AS live FROM ${sql.table(table)} GROUP BY 2`
  const kept = sql`SELECT tbl, block, live FROM dossier_counts WHERE tbl = ${table} AND live <> 0`
  const { rows } = await sql<{ wrong: number }>`
    SELECT EXISTS (${actual} EXCEPT ${kept}) OR EXISTS (${kept} EXCEPT ${actual}) AS wrong`.execute(db)
  if (rows[0]?.wrong === 0) return false
  await sql`DELETE FROM dossier_counts WHERE tbl = ${table}`.execute(db)
  await sql`INSERT INTO dossier_counts ${actual}`.execute(db)
  return true
}

/** Repairs what somebody who wrote to the tables by hand has left wrong; returns the models concerned. */
export async function repairCounts(db: Database, models: Model[]): Promise<string[]> {
  return db.transaction().execute(async (transaction) => {
    const wrong: string[] = []
    for (const model of models) if (await recount(transaction, model)) wrong.push(model.name)
    return wrong
  })
}

/** The counts of one model, as finds use them. */
export function countsOf(db: Database, model: Model) {
  const table = tableOf(model)
  const sum: CompiledQuery = sql`SELECT total(live) AS total FROM dossier_counts WHERE tbl = ${table}`.compile(db)
  const blocks: CompiledQuery = sql`SELECT block, live FROM dossier_counts WHERE tbl = ${table} ORDER BY block`.compile(
    db,
  )

  const total = (): number => (selectOne(db, sum, [table]) as { total: number }).total

  /** Where the record at an offset is: at or after which id, and how many further on. */
  function locate(offset: number): { from: number; skip: number } {
    let skip = offset
    for (const { block, live } of selectNow<{ block: number; live: number }>(db, blocks, [table])) {
      if (skip < live) return { from: block * 2 ** BLOCK_BITS, skip }
      skip -= live
    }
    return { from: Number.MAX_SAFE_INTEGER, skip: 0 }
  }

  return { total, locate }
}
