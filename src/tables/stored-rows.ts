import { type RawBuilder, sql } from 'kysely'
import type { Database } from '../storage/storage.ts'

/** Maximum of offending records in a message. */
export const MAX_NAMED = 10
/** Records and bytes of a batch, about. */
const BATCH = 1000
const BATCH_BYTES = 1_000_000

/** The first of some records, for a message. */
export const listIds = (ids: number[]) =>
  `${ids.slice(0, MAX_NAMED).join(', ')}${ids.length > MAX_NAMED ? ' and more' : ''}`

/** Records with ids above `after` that meet `condition`. `condition` has no lower bound: SQLite uses only one. */
export interface RowSelection {
  after: number
  condition: RawBuilder<unknown>
}

const EVERY: RowSelection = { after: Number.MIN_SAFE_INTEGER, condition: sql`1 = 1` }

/** Reads some columns of the records in batches: memory use stays constant, with one promise per batch, not per row. */
export async function* storedRows(db: Database, table: string, columns: string[], { after, condition } = EVERY) {
  const bytes = columns.map((name) => sql`coalesce(octet_length(CAST(${sql.ref(name)} AS TEXT)), 0)`)
  let last = after
  for (;;) {
    const next = sql`FROM ${sql.table(table)} WHERE "id" > ${last} AND ${condition} ORDER BY "id" LIMIT ${BATCH}`
    // Sizes first: a thousand large values would take a gigabyte.
    const { rows: sizes } = await sql<{ id: number; bytes: number }>`
      SELECT "id", ${sql.join(bytes, sql` + `)} AS bytes ${next}`.execute(db)
    const [{ id: first } = { id: undefined }] = sizes
    if (first === undefined) return
    let to = first
    let left = BATCH_BYTES
    for (const { id, bytes } of sizes) {
      left -= bytes
      if (left < 0 && id !== first) break
      to = id
    }
    const { rows } = await sql<{ id: number } & Record<string, unknown>>`
      SELECT "id", ${sql.join(columns.map((name) => sql.ref(name)))} FROM ${sql.table(table)}
      WHERE "id" BETWEEN ${first} AND ${to} AND ${condition} ORDER BY "id"`.execute(db)
    yield rows
    last = to
  }
}
