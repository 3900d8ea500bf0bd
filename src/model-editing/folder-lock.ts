import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { unavailableFailure } from '../errors.ts'
import { isFault, type Step, type Storage, type WriteStorage } from '../storage/storage.ts'
import { clearDraft, FILES } from './model-file-versions.ts'

/** How long a save may hold the folder: one that takes longer has died. */
const LOCK_MS = 60_000
const MAX_LOCK_ATTEMPTS = 20
const LOCK_PAUSE_MS = 250
/** Stands for the whole folder, where others have the name of a model. */
const FOLDER = ''

/**
 * Saves a model while no other node writes to a models folder: it may be the same one. `writing` is the
 * storage through which the end of the lock is written; it may add the request's idempotency key to that unit.
 */
export async function saveLocked<Result>(
  storage: WriteStorage,
  { model, by, writing }: { model: string; by: string; writing: Pick<Storage, 'write'> },
  save: () => Promise<Result>,
): Promise<Result> {
  const lock = randomUUID()
  const unlock: Step = {
    sql: `DELETE FROM ${FILES} WHERE model = ? AND kind = 'lock' AND content = ? RETURNING id`,
    parameters: [FOLDER, lock],
  }
  await takeLock(storage, lock, by)
  try {
    const result = await save()
    await writing.write({ steps: [clearDraft(model, by), unlock] })
    return result
  } catch (error) {
    await storage.write({ steps: [unlock] })
    throw error
  }
}

/** Waits for the lock. A lock whose holder has died expires after `LOCK_MS`. */
async function takeLock(storage: WriteStorage, lock: string, by: string, attempts = MAX_LOCK_ATTEMPTS): Promise<void> {
  const now = Date.now()
  const steps: Step[] = [
    { sql: `DELETE FROM ${FILES} WHERE model = ? AND kind = 'lock' AND at < ?`, parameters: [FOLDER, now - LOCK_MS] },
    {
      sql: `INSERT INTO ${FILES} (model, kind, content, author, at) VALUES (?, 'lock', ?, ?, ?)`,
      parameters: [FOLDER, lock, by, now],
    },
  ]
  try {
    await storage.write({ steps })
  } catch (error) {
    if (!isFault(error, 'taken')) throw error
    if (attempts === 1) throw unavailableFailure('Somebody else is saving a model right now. Try again.', 5)
    await sleep(LOCK_PAUSE_MS)
    await takeLock(storage, lock, by, attempts - 1)
  }
}
