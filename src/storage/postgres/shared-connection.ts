import { StorageFault } from '../storage.ts'
import { Connection, type Timeouts } from './connection.ts'

/** A connection with several concurrent users. It is opened when first needed, and again after it was lost. */
export class SharedConnection {
  readonly #url: string
  readonly #timeouts: Timeouts
  #current: Promise<Connection> | undefined
  #isClosed = false

  constructor(url: string, timeouts: Timeouts) {
    this.#url = url
    this.#timeouts = timeouts
  }

  get(): Promise<Connection> {
    // A connection that is opened after `close` would never be closed.
    if (this.#isClosed) return Promise.reject(new StorageFault('busy', 'The database is closed.'))
    if (this.#current) return this.#current
    const clear = () => {
      if (this.#current === opening) this.#current = undefined
    }
    const opening = Connection.open(this.#url, clear, this.#timeouts)
    opening.catch(clear)
    this.#current = opening
    return opening
  }

  /** Replaces the connection, because its prepared statements do not fit tables that have changed. */
  renew(): void {
    void this.#closeCurrent()
    this.#current = undefined
  }

  close(): Promise<void> {
    this.#isClosed = true
    return this.#closeCurrent()
  }

  async #closeCurrent(): Promise<void> {
    const connection = await this.#current?.catch(() => undefined)
    await connection?.close()
  }
}
