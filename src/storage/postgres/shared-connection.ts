import { Connection, type Limits } from './connection.ts'

/** A connection that many use at once. It is opened when it is first needed, and anew when it is lost. */
export class SharedConnection {
  readonly #url: string
  readonly #limits: Limits
  #current: Promise<Connection> | undefined

  constructor(url: string, limits: Limits) {
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

  /** What the connection keeps ready was made for tables that have changed: another one takes its place. */
  renew(): void {
    void this.close()
    this.#current = undefined
  }

  async close(): Promise<void> {
    const connection = await this.#current?.catch(() => undefined)
    await connection?.close()
  }
}
