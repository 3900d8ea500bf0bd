import type { MaybePromise, Row, Step, Storage } from '../storage/storage.ts'
import { KEY_LIFETIME_MS, type KeyedRequest, keyReusedFailure, STORE_KEY } from './idempotency.ts'

const LOOK_UP = 'SELECT hash, rows FROM dossier_keys WHERE username = ? AND key = ? AND at > ?'

const UPDATE_PROGRESS =
  'UPDATE dossier_keys SET rows = ?, at = ? WHERE username = ? AND key = ? AND rows = ? RETURNING key'

/**
 * An import of many units that a repeated request resumes. Each unit stores the place that it has reached in its own
 * transaction. If the stored place is not the expected one, another request has continued the import.
 */
export class ResumableImport<Progress> {
  readonly #storage: Storage
  readonly #sent: KeyedRequest
  /** the progress as JSON, as last stored; undefined before the first unit */
  #stored: string | undefined
  #next = ''
  progress: Progress | undefined

  private constructor(storage: Storage, sent: KeyedRequest) {
    this.#storage = storage
    this.#sent = sent
  }

  static async begin<Progress>(storage: Storage, sent: KeyedRequest): Promise<ResumableImport<Progress>> {
    const resumable = new ResumableImport<Progress>(storage, sent)
    const row = await resumable.#lookUp()
    if (!row) return resumable
    if (row.hash !== sent.hash) throw keyReusedFailure()
    resumable.#stored = row.rows as string
    resumable.progress = JSON.parse(resumable.#stored)
    return resumable
  }

  /** The last step of a unit, which stores the reached place. It returns no row if another request was faster. */
  step(progress: Progress): Step {
    const { username, key, hash } = this.#sent
    const now = Date.now()
    this.#next = JSON.stringify(progress)
    if (this.#stored === undefined)
      return {
        sql: STORE_KEY,
        parameters: [username, key, hash, now, this.#next, now - KEY_LIFETIME_MS],
        mustReturnRow: true,
      }
    return { sql: UPDATE_PROGRESS, parameters: [this.#next, now, username, key, this.#stored], mustReturnRow: true }
  }

  /** Whether another request has continued the import: its records may have caused the error that the caller got. */
  async isOvertaken(): Promise<boolean> {
    return (await this.#lookUp())?.rows !== this.#stored
  }

  #lookUp(): MaybePromise<Row | undefined> {
    const { username, key } = this.#sent
    return this.#storage.readOne({ sql: LOOK_UP, parameters: [username, key, Date.now() - KEY_LIFETIME_MS] })
  }

  /** To be called after the unit was written. */
  confirmWritten(): void {
    this.#stored = this.#next
  }
}
