import { takeUpTo } from '../size.ts'
import type { Found, Row, Statement } from '../storage.ts'
import { faultOf, isLost, isWorthAnotherTry } from './faults.ts'
import { Shared } from './shared.ts'

/** Connections that bounded looks share: each look goes out at once, and none takes long. */
const CONNECTIONS = 2
/** How long a moment lasts. */
const MOMENT_MS = 2

/** Bounded looks. One that was lost with its connection is taken once more: nothing has come of it. */
export class Reader {
  readonly #connections: Shared[]
  #next = 0
  #moment = 0
  #since = Number.NEGATIVE_INFINITY

  constructor(url: string) {
    this.#connections = Array.from({ length: CONNECTIONS }, () => new Shared(url))
  }

  async all(statement: Statement): Promise<Row[]> {
    try {
      return await this.#run(statement)
    } catch (error) {
      if (!isLost(error) && !isWorthAnotherTry(error)) throw faultOf(error)
      return this.#again(statement)
    }
  }

  async first(statement: Statement): Promise<Row | undefined> {
    const [row] = await this.all(statement)
    return row
  }

  async upTo(statement: Statement, bytes: number): Promise<Found> {
    return takeUpTo(await this.all(statement), bytes)
  }

  /** Another number every two milliseconds, and after every commit of this process. */
  moment(): number {
    const now = performance.now()
    if (now - this.#since >= MOMENT_MS) this.lookAgain(now)
    return this.#moment
  }

  lookAgain(now = performance.now()): void {
    this.#since = now
    this.#moment++
  }

  /** Tables have changed. */
  renew(): void {
    for (const shared of this.#connections) shared.renew()
  }

  async close(): Promise<void> {
    await Promise.all(this.#connections.map((shared) => shared.close()))
  }

  async #run(statement: Statement): Promise<Row[]> {
    const shared = this.#connections[this.#next++ % CONNECTIONS] as Shared
    return (await shared.get()).run(statement)
  }

  async #again(statement: Statement): Promise<Row[]> {
    try {
      this.renew()
      return await this.#run(statement)
    } catch (error) {
      throw faultOf(error)
    }
  }
}
