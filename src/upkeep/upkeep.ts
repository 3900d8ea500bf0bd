import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import type { Storage } from '../storage/storage.ts'
import { scheduleBackups } from './backups.ts'
import type { Metrics } from './metrics.ts'
import { schedulePruning } from './prune.ts'

/** Begins all that goes on without anybody asking. Returns how to stop. */
export function beginUpkeep(storage: Storage, config: Config, log: Logger, metrics: Metrics): () => void {
  const stops = [
    scheduleBackups(storage, config, log),
    schedulePruning(storage, config, log, (changes) => metrics.pruned(changes)),
  ]
  return () => {
    for (const stop of stops) stop()
  }
}
