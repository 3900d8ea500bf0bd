import { Connection } from './connection.ts'

/** A connection that many use at once. It is opened when it is first needed, and anew when it is lost. */
export class Shared {
  readonly #url: string
  #current: Promise<Connection> | undefined

  constructor(url: string) {
    this.#url = url
  }

  get(): Promise<Connection> {
    if (this.#current) return this.#current
    const forget = () => {
      if (this.#current === opening) this.#current = undefined
    }
    const opening = Connection.open(this.#url, forget)
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
