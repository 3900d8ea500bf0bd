import type { Logger } from 'pino'
import { isFault } from '../storage/storage.ts'

/** Remembers that the database is damaged. Readable data is still served; an operator has to restore a backup. */
export class Damage {
  readonly #log: Pick<Logger, 'fatal'>
  #since: string | undefined

  constructor(log: Pick<Logger, 'fatal'>) {
    this.#log = log
  }

  /** Time of the first detection; undefined if no damage has been detected. */
  get since(): string | undefined {
    return this.#since
  }

  /** Returns whether an error means that the database is damaged; logs the first one. */
  detect(error: unknown): boolean {
    if (!isFault(error, 'damaged')) return false
    if (this.#since !== undefined) return true
    this.#since = new Date().toISOString()
    this.#log.fatal(error, 'the database is damaged: stop the service and restore a backup (npm run restore)')
    return true
  }
}
