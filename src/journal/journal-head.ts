import type { Storage } from '../storage/storage.ts'

/** Identifies the state of all records that have a history. */
export interface JournalHead {
  /** number of the newest change */
  newest: number
  /** differs after a change of tables and after a restore, of which the journal has no change */
  epoch: string
}

const headByStorage = new WeakMap<Storage, { snapshot: number; head: Promise<JournalHead | undefined> }>()

/**
 * Returns undefined if there is no change, or if a transaction in progress may still commit one with a lower number.
 * Begins a new snapshot, because records that are read afterwards must not be older than this head. Finds in the same
 * snapshot share it. Where other nodes write to the same database, only finds in the same callback of the event loop
 * share it: their requests arrived before the query was sent, so the head includes all that other nodes had answered by
 * then.
 */
export function readJournalHead(storage: Storage): Promise<JournalHead | undefined> {
  const last = headByStorage.get(storage)
  if (last?.snapshot === storage.snapshotId()) return last.head
  const begun = { snapshot: storage.newSnapshotId(), head: queryJournalHead(storage) }
  headByStorage.set(storage, begun)
  if (storage.dialect.tables.isShared) process.nextTick(() => headByStorage.delete(storage))
  return begun.head
}

/** The row of `Dialect.lastChange`. */
interface LastChange {
  newest: number | null
  settled: number
  tables: number | null
  restored: number | null
}

async function queryJournalHead(storage: Storage): Promise<JournalHead | undefined> {
  const row = await storage.readOne({ sql: storage.dialect.lastChange, parameters: [] })
  const { newest, settled, tables, restored } = row as unknown as LastChange
  return newest !== null && newest <= settled ? { newest, epoch: `${tables} ${restored}` } : undefined
}

/** More changes are not looked at: the answer is that something has changed. */
const MAX_CHANGES = 1000

/** Whether records of these models may have changed after one change and up to another one. */
export async function hasChanged(storage: Storage, models: string[], since: number, upTo: number): Promise<boolean> {
  if (since === upTo) return false
  const row = await storage.readOne({ sql: changesSql(models.length), parameters: [...models, since, upTo] })
  const { oldest, looked, found } = row as { oldest: number; looked: number; found: number }
  // Changes that were pruned are unknown, and a later number is from another database.
  return since > upTo || oldest > since + 1 || looked > MAX_CHANGES || found > 0
}

const changesSql = (models: number) => `
  SELECT (SELECT min(change) FROM dossier_changes) AS oldest, CAST(count(*) AS BIGINT) AS looked,
    CAST(coalesce(sum(CASE WHEN model IN (${Array(models).fill('?').join(', ')}) THEN 1 ELSE 0 END), 0) AS BIGINT) AS found
  FROM (SELECT model FROM dossier_changes WHERE change > ? AND change <= ? ORDER BY change LIMIT ${MAX_CHANGES + 1}) AS looked`
