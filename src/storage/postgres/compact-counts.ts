import type { Unit } from '../storage.ts'

/** How often counts are compacted, and how many rows at a time. */
const COMPACT_MS = 60_000
const ROWS_PER_PORTION = 5000

/** Sums up rows that no transaction is updating into one row per block, so that a total has few rows to add. */
const COMPACT = `
  WITH cold AS (
    DELETE FROM dossier_counts WHERE ctid IN (
      SELECT ctid FROM dossier_counts WHERE slot <> 0 LIMIT ? FOR UPDATE SKIP LOCKED
    ) RETURNING tbl, block, live
  )
  INSERT INTO dossier_counts AS counted (tbl, block, slot, live)
  SELECT tbl, block, 0, sum(live) FROM cold GROUP BY tbl, block ORDER BY tbl, block
  ON CONFLICT (tbl, block, slot) DO UPDATE SET live = counted.live + excluded.live`

/** Compacts counts periodically. Returns a function that stops it. */
export function compactCounts(
  write: (unit: Unit) => Promise<unknown>,
  onError: (error: unknown) => void,
  intervalMs = COMPACT_MS,
): () => void {
  // After an error, the next run compacts the rows: totals are correct in any case.
  const compact = () => write({ steps: [{ sql: COMPACT, parameters: [ROWS_PER_PORTION] }] }).catch(onError)
  const timer = setInterval(compact, intervalMs).unref()
  return () => clearInterval(timer)
}
