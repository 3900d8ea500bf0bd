import { KEY_LIFETIME_MS } from '../journal/idempotency.ts'
import type { Storage } from '../storage/storage.ts'
import { dropInPortions } from './in-portions.ts'

const SWEEP = `
  DELETE FROM dossier_keys WHERE (username, key) IN (SELECT username, key FROM dossier_keys WHERE at <= ? ORDER BY at LIMIT ?)
  RETURNING key`

/** Deletes expired idempotency keys. */
export function sweepKeys(storage: Storage, isOver: () => boolean): Promise<void> {
  const before = Date.now() - KEY_LIFETIME_MS
  const drop = (portion: number) => ({ sql: SWEEP, parameters: [before, portion] })
  return dropInPortions(storage, drop, () => {}, isOver)
}
