import { setTimeout as sleep } from 'node:timers/promises'
import type { Searcher } from '../searches.ts'
import { takeUpTo } from '../size.ts'
import { cancelledFault, type Row, type SearchOptions, type SearchResult, type Statement } from '../storage.ts'
import { Connection } from './connection.ts'
import { isConnectionLost, isRetryable, toFault } from './faults.ts'
import { READ_SHAPES, requireExpectedShapes } from './require-shapes.ts'
import { SharedConnection } from './shared-connection.ts'
import { ROLLBACK } from './transaction.ts'

/** How long after its timeout a search may still be answered before its connection is destroyed. */
const GRACE_MS = 5000
/** How often a search is executed that a deadlock has ended. */
const MAX_ATTEMPTS = 3
/** How long after a cancel request the next one is sent, if the search still runs. */
const CANCEL_AGAIN_MS = 100

/**
 * A connection that runs one search at a time, and is opened again after it was lost. The server ends a search at its
 * timeout; an aborted search is cancelled.
 */
export class PostgresSearcher implements Searcher {
  readonly #url: string
  readonly #graceMs: number
  readonly #shared: SharedConnection
  /** process id of the server's backend while a search runs */
  #backendPid: number | undefined
  #isStopped = false
  /** aborted when the running search has ended */
  #ended = new AbortController()
  #cancelling: Promise<void> | undefined

  constructor(url: string, graceMs = GRACE_MS) {
    this.#url = url
    this.#graceMs = graceMs
    this.#shared = new SharedConnection(url, {})
  }

  async run(statement: Statement, ms: number, { bytes, shapes }: SearchOptions): Promise<SearchResult> {
    this.#isStopped = false
    this.#ended = new AbortController()
    this.#cancelling = undefined
    let deadline: NodeJS.Timeout | undefined
    let hasExpired = false
    let destroy: () => void
    const work = async () => {
      const connection = await this.#shared.get()
      destroy = () => connection.destroy()
      // The server's own timeout comes long before this one, unless the server does not answer any more.
      deadline ??= setTimeout(() => {
        hasExpired = true
        destroy()
      }, ms + this.#graceMs).unref()
      const pid = await connection.backendPid()
      if (this.#isStopped) throw cancelledFault()
      this.#backendPid = pid
      return this.#search(connection, statement, ms, bytes, shapes)
    }
    const again = (error: unknown) => {
      // The deadline has ended the connection, or it was lost on the way, for example while the server restarts.
      if (this.#isStopped || hasExpired || !isConnectionLost(error)) throw error
      this.#shared.renew()
      return work()
    }
    return work()
      .catch(again)
      .catch((error) => {
        // The server reports a cancelled statement and a timeout with the same code.
        throw this.#isStopped ? cancelledFault() : toFault(error)
      })
      .finally(() => {
        clearTimeout(deadline)
        this.#backendPid = undefined
        this.#ended.abort()
        // Wait for the cancel request: a late one would end the next search of this connection.
        return this.#cancelling
      })
  }

  async #search(
    connection: Connection,
    statement: Statement,
    ms: number,
    bytes: number,
    shapes: SearchOptions['shapes'],
    attempts = 1,
  ): Promise<SearchResult> {
    const timeout = Math.max(1, Math.ceil(ms))
    const toStatement = (sql: string) => ({ sql, parameters: [] })
    const limits = [toStatement('BEGIN READ ONLY'), toStatement(`SET LOCAL statement_timeout = ${timeout}`)]
    const searched = connection.runAllUnprepared([...limits, READ_SHAPES, statement])
    // The timeout holds for the ROLLBACK too. If it fails, the connection is still in the transaction: it is given up.
    await connection.run(ROLLBACK).catch(() => connection.destroy())
    const { results, error } = await searched
    // A change of tables may have waited for this search, and the search for it.
    if (isRetryable(error) && attempts < MAX_ATTEMPTS)
      return this.#search(connection, statement, ms, bytes, shapes, attempts + 1)
    if (error) throw error
    const [, , known, found] = results as [Row[], Row[], Row[], Row[]]
    requireExpectedShapes(known, shapes)
    return takeUpTo(found, bytes)
  }

  stop(): void {
    this.#isStopped = true
    if (this.#backendPid !== undefined) this.#cancelling ??= this.#cancel(this.#backendPid, this.#ended.signal)
  }

  /**
   * Cancels the search through another connection, as this one is busy. It repeats the request until the search has
   * ended: the server may refuse the connection, and it ignores a request that arrives between two statements.
   */
  async #cancel(pid: number, ended: AbortSignal): Promise<void> {
    const cancel = { sql: 'SELECT pg_cancel_backend(?)', parameters: [pid] }
    while (!ended.aborted) {
      await Connection.with(this.#url, (other) => other.runUnprepared(cancel), { answer: this.#graceMs }).catch(
        () => {},
      )
      await sleep(CANCEL_AGAIN_MS, undefined, { signal: ended }).catch(() => {})
    }
  }

  async close(): Promise<void> {
    this.stop()
    await this.#shared.close()
  }
}
