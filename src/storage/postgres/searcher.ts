import type { Searcher } from '../searches.ts'
import { takeUpTo } from '../size.ts'
import { type Found, nobodyWaits, type Seeker, type Statement } from '../storage.ts'
import { Connection } from './connection.ts'
import { faultOf } from './faults.ts'
import { KNOWN_SHAPES, requireShapes } from './known-shapes.ts'

/** A connection for searches, one at a time. The server ends what takes too long; what nobody waits for is cancelled. */
export class PostgresSearcher implements Searcher {
  readonly #url: string
  readonly #onDeath: () => void
  #connection: Promise<Connection> | undefined
  /** the process on the other side, while it searches */
  #number: number | undefined
  #isStopped = false
  #cancelling: Promise<void> | undefined

  constructor(url: string, onDeath: () => void) {
    this.#url = url
    this.#onDeath = onDeath
  }

  async run(statement: Statement, ms: number, { bytes, shapes }: Seeker): Promise<Found> {
    this.#isStopped = false
    const work = async () => {
      this.#connection ??= Connection.open(this.#url, this.#onDeath)
      const connection = await this.#connection
      const number = await connection.number()
      if (this.#isStopped) throw nobodyWaits()
      this.#number = number
      return this.#search(connection, statement, ms, bytes, shapes)
    }
    return work()
      .catch((error) => {
        // To be cancelled and to run out of time are the same to the server.
        throw this.#isStopped ? nobodyWaits() : faultOf(error)
      })
      .finally(() => {
        this.#number = undefined
        // Else it would end somebody else's search.
        return this.#cancelling
      })
  }

  async #search(connection: Connection, statement: Statement, ms: number, bytes: number, shapes: Seeker['shapes']) {
    const timeout = Math.max(1, Math.ceil(ms))
    const begin = { sql: `BEGIN READ ONLY; SET LOCAL statement_timeout = ${timeout}`, parameters: [] }
    const sent = [connection.runOnce(begin), connection.run(KNOWN_SHAPES), connection.runOnce(statement)] as const
    const end = () => connection.runOnce({ sql: 'ROLLBACK', parameters: [] })
    const settled = await Promise.allSettled([...sent, end()])
    for (const one of settled) if (one.status === 'rejected') throw one.reason
    requireShapes(await sent[1], shapes)
    return takeUpTo(await sent[2], bytes)
  }

  stop(): void {
    this.#isStopped = true
    if (this.#number !== undefined) this.#cancelling = this.#cancel(this.#number)
  }

  /** By a connection of its own, for this one is busy. It may be over before it is cancelled: then it was quick enough. */
  async #cancel(number: number): Promise<void> {
    const cancel = { sql: 'SELECT pg_cancel_backend(?)', parameters: [number] }
    await Connection.with(this.#url, (other) => other.runOnce(cancel)).catch(() => {})
  }

  async close(): Promise<void> {
    this.stop()
    const connection = await this.#connection?.catch(() => undefined)
    await connection?.close()
  }
}
