import { Connection, type Timeouts } from './connection.ts'

/** A connection with several concurrent users. It is opened when first needed, and again after it was lost. */
export class SharedConnection {
  readonly #url: string
  readonly #limits: Timeouts
  #current: Promise<Connection> | undefined

  constructor(url: string, limits: Timeouts) {
    this.#url = url
    this.#limits = limits
  }

  get(): Promise<Connection> {
    if (this.#current) return this.#current
    const forget = () => {
      if (this.#current === opening) this.#current = undefined
    }
    const opening = Connection.open(this.#url, forget, this.#limits)
    opening.catch(forget)
    this.#current = opening
    return opening
  }

  /** Replaces the connection, because its prepared statements do not fit tables that have changed. */
  renew(): void {
    void this.close()
    this.#current = undefined
  }

  async close(): Promise<void> {
    const connection = await this.#current?.catch(() => undefined)
    await connection?.close()
  }
}
