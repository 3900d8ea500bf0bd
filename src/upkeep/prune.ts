import { KEY_LIFETIME_MS } from '../journal/idempotency.ts'
import type { Storage } from '../storage/storage.ts'
import { deleteInPortions } from './delete-in-portions.ts'

/**
 * Deletes the oldest changes, up to the first that is young enough. The newest change always stays, so that numbers
 * continue after it.
 */
const PRUNE = `
  WITH oldest AS (SELECT change, at FROM dossier_changes ORDER BY change LIMIT ?)
  DELETE FROM dossier_changes WHERE change <= (SELECT max(change) FROM oldest)
  AND change < coalesce((SELECT min(change) FROM oldest WHERE at >= ?), (SELECT max(change) FROM dossier_changes))
  RETURNING change`

/** Deletes changes that were made before the given date, in portions. */
export function prune(
  storage: Storage,
  before: Date,
  onPruned: (changes: number) => void,
  isStopped = () => false,
): Promise<void> {
  const deleteStep = (portion: number) => ({ sql: PRUNE, parameters: [portion, before.toISOString()] })
  return deleteInPortions(storage, deleteStep, onPruned, isStopped)
}

const PRUNE_KEYS = `
  DELETE FROM dossier_keys WHERE (username, key) IN (SELECT username, key FROM dossier_keys WHERE at <= ? ORDER BY at LIMIT ?)
  RETURNING key`

/** Deletes expired idempotency keys. */
export function pruneKeys(storage: Storage, isStopped: () => boolean): Promise<void> {
  const before = Date.now() - KEY_LIFETIME_MS
  const deleteStep = (portion: number) => ({ sql: PRUNE_KEYS, parameters: [before, portion] })
  return deleteInPortions(storage, deleteStep, () => {}, isStopped)
}
