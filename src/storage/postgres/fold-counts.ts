import type { Unit } from '../storage.ts'

/** How often counts are folded, and how many rows of them at a time. */
const FOLD_MS = 60_000
const AT_A_TIME = 5000

/** What is not being counted right now goes into one row per block, so that a total has few rows to add up. */
const FOLD = `
  WITH cold AS (
    DELETE FROM dossier_counts WHERE ctid IN (
      SELECT ctid FROM dossier_counts WHERE slot <> 0 LIMIT ? FOR UPDATE SKIP LOCKED
    ) RETURNING tbl, block, live
  )
  INSERT INTO dossier_counts AS counted (tbl, block, slot, live)
  SELECT tbl, block, 0, sum(live) FROM cold GROUP BY tbl, block ORDER BY tbl, block
  ON CONFLICT (tbl, block, slot) DO UPDATE SET live = counted.live + excluded.live`

/** Folds counts every now and then. Returns how to stop. */
export function foldCounts(
  write: (unit: Unit) => Promise<unknown>,
  onError: (error: unknown) => void,
  foldMs = FOLD_MS,
): () => void {
  // If it does not work now, it will later: totals are right in any case.
  const fold = () => write({ steps: [{ sql: FOLD, parameters: [AT_A_TIME] }] }).catch(onError)
  const timer = setInterval(fold, foldMs).unref()
  return () => clearInterval(timer)
}
