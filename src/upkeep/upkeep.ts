import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import { dataFolder } from '../data-folder.ts'
import { DAY_MS } from '../lib/dates.ts'
import type { Storage } from '../storage/storage.ts'
import { removeAbandonedImports } from './abandoned-imports.ts'
import { scheduleBackups } from './backups.ts'
import type { Metrics } from './metrics.ts'
import { maintainOrderKeys } from './order-keys.ts'
import { prune, pruneKeys } from './prune.ts'
import { repeat } from './repeat.ts'
import { scrub } from './scrub.ts'
import { maintainSearchIndexes, type SearchIndexParts } from './search-indexes.ts'

/** Interval between two runs of the journal's maintenance. */
const POLL_MS = 60_000

interface Dependencies extends SearchIndexParts {
  log: Logger
  metrics: Pick<Metrics, 'countPruned'>
  /** Called when a task has failed; the next run retries it. */
  onError(task: string, error: unknown): void
}

/** Starts the background tasks: backups; upkeep of journal, order keys and search indexes. Returns a stop function. */
export function startUpkeep(storage: Storage, config: Config, parts: Dependencies): () => void {
  const stopBackups = scheduleBackups(storage, config, parts)
  const stopJournal = maintainJournal(storage, config, parts)
  const stopKeys = maintainOrderKeys(storage, parts.onError)
  const stopIndexes = maintainSearchIndexes(storage, parts)
  return () => {
    stopBackups()
    stopJournal()
    stopKeys()
    stopIndexes()
  }
}

/**
 * Scrubs new secrets from the journal and deletes expired keys, abandoned imports and old changes: now and every
 * `pollMs`. Returns a stop function.
 */
export function maintainJournal(
  storage: Storage,
  config: Config,
  { metrics, onError }: Pick<Dependencies, 'metrics' | 'onError'>,
  pollMs = POLL_MS,
): () => void {
  return repeat({
    everyMs: pollMs,
    isAtOnce: true,
    async run(isStopped) {
      await scrub(storage, isStopped)
      await pruneKeys(storage, isStopped)
      await removeAbandonedImports(dataFolder(config.DATA_DIR).imports)
      const before = new Date(Date.now() - config.HISTORY_DAYS * DAY_MS)
      const count = (changes: number) => metrics.countPruned(changes)
      if (config.HISTORY_DAYS > 0) await prune(storage, before, count, isStopped)
    },
    onError: (error) => onError('upkeep of the history', error),
  })
}
