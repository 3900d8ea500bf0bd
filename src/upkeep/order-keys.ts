import type { Storage } from '../storage/storage.ts'

const LOOK_MS = 1000
const NOTED = { sql: 'SELECT 1 FROM dossier_unsorted LIMIT 1', parameters: [] }

/**
 * Makes the sort keys of records that were changed at a database shell, about a second later. Any write does so, and this
 * one does nothing else. Returns a stop function.
 */
export function maintainOrderKeys(storage: Storage, onError: (task: string, error: unknown) => void, lookMs = LOOK_MS) {
  if (!storage.dialect.tables.keepsOrderKeys) return () => {}
  let isOver = false
  let isAtIt = false
  const look = async () => {
    if (isAtIt) return
    isAtIt = true
    try {
      while (!isOver && (await storage.readOne(NOTED))) await storage.write({ steps: [] })
    } catch (error) {
      if (!isOver) onError('sort keys of texts that were changed by hand are made', error)
    }
    isAtIt = false
  }
  const timer = setInterval(look, lookMs).unref()
  return () => {
    isOver = true
    clearInterval(timer)
  }
}
