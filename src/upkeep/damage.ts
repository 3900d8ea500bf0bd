import type { Logger } from 'pino'
import { StorageFault } from '../storage/storage.ts'

/** Whether a damaged database was met. What can still be read is served; a person has to restore a backup. */
export class Damage {
  readonly #log: Pick<Logger, 'fatal'>
  #since: string | undefined

  constructor(log: Pick<Logger, 'fatal'>) {
    this.#log = log
  }

  /** When it was met first; undefined if there is none. */
  get since(): string | undefined {
    return this.#since
  }

  /** Returns whether an error says that the database is damaged. The first one is logged. */
  detect(error: unknown): boolean {
    if (!(error instanceof StorageFault) || error.kind !== 'damaged') return false
    if (this.#since !== undefined) return true
    this.#since = new Date().toISOString()
    this.#log.fatal(error, 'the database is damaged: stop the service and restore a backup (npm run restore)')
    return true
  }
}
