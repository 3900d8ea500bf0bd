import type { Storage } from '../storage/storage.ts'
import { repeat } from './repeat.ts'

const POLL_MS = 1000
const NOTED = { sql: 'SELECT 1 FROM dossier_unsorted LIMIT 1', parameters: [] }

/**
 * Makes the order keys of records that were changed at a database shell, about a second later. The writer makes them in
 * each transaction, so a unit without steps is enough. Returns a stop function.
 */
export function maintainOrderKeys(storage: Storage, onError: (task: string, error: unknown) => void, pollMs = POLL_MS) {
  if (!storage.dialect.tables.keepsOrderKeys) return () => {}
  return repeat({
    everyMs: pollMs,
    async run(isStopped) {
      while (!isStopped() && (await storage.readOne(NOTED))) await storage.write({ steps: [] })
    },
    onError: (error) => onError('making order keys of texts that were changed by hand', error),
  })
}
