import { takeUpTo } from '../size.ts'
import type { Row, SearchResult, Statement } from '../storage.ts'
import { isConnectionLost, isRetryable, toFault } from './faults.ts'
import { SharedConnection } from './shared-connection.ts'

/**
 * Connections that bounded reads of records share: each read is sent at once, and none takes long. Reads of the
 * service's own tables have another connection, so that they do not wait behind a read of a table that is locked for a
 * change.
 */
const CONNECTIONS = 2
const LIMITS = { lock: 100, statement: 5000, answer: 8000 }

/** How long `snapshotId` returns the same number. */
const MOMENT_MS = 2

/** Bounded reads. A read is repeated once if its connection was lost or its prepared statement no longer fits. */
export class Reader {
  readonly #own: SharedConnection
  readonly #connections: SharedConnection[]
  #next = 0
  #moment = 0
  #since = Number.NEGATIVE_INFINITY

  constructor(url: string) {
    this.#own = new SharedConnection(url, LIMITS)
    this.#connections = Array.from({ length: CONNECTIONS }, () => new SharedConnection(url, LIMITS))
  }

  async all(statement: Statement): Promise<Row[]> {
    try {
      return await this.#run(statement)
    } catch (error) {
      if (!isConnectionLost(error) && !isRetryable(error)) throw toFault(error)
      return this.#again(statement, error)
    }
  }

  async first(statement: Statement): Promise<Row | undefined> {
    const [row] = await this.all(statement)
    return row
  }

  async upTo(statement: Statement, bytes: number): Promise<SearchResult> {
    return takeUpTo(await this.all(statement), bytes)
  }

  /** A number that changes every two milliseconds, and after every commit of this process. */
  snapshotId(): number {
    const now = performance.now()
    if (now - this.#since >= MOMENT_MS) this.endSnapshot(now)
    return this.#moment
  }

  endSnapshot(now = performance.now()): void {
    this.#since = now
    this.#moment++
  }

  /** Replaces all connections, after tables have changed. */
  renew(): void {
    for (const shared of [this.#own, ...this.#connections]) shared.renew()
  }

  async close(): Promise<void> {
    await Promise.all([this.#own, ...this.#connections].map((shared) => shared.close()))
  }

  async #run(statement: Statement): Promise<Row[]> {
    const shared = statement.readsRecords
      ? (this.#connections[this.#next++ % CONNECTIONS] as SharedConnection)
      : this.#own
    return (await shared.get()).run(statement)
  }

  async #again(statement: Statement, lost: unknown): Promise<Row[]> {
    try {
      // A lost connection is opened again by itself.
      if (!isConnectionLost(lost)) this.renew()
      return await this.#run(statement)
    } catch (error) {
      throw toFault(error)
    }
  }
}
