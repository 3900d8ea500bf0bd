import type { Database as Sqlite } from 'better-sqlite3'
import { CompiledQuery, type DatabaseConnection, type Driver, type QueryResult, type TransactionSettings } from 'kysely'
import { Reader } from './reader.ts'
import { Statements } from './statements.ts'

/**
 * A transaction with foreign keys off, for rebuilding tables. SQLite has no isolation levels (all its transactions are
 * serializable), and Kysely has no other way to tell a driver something about a transaction.
 */
export const WITHOUT_FOREIGN_KEYS = 'snapshot'

const BEGIN_IMMEDIATE = CompiledQuery.raw('begin immediate')
const COMMIT = CompiledQuery.raw('commit')
const ROLLBACK = CompiledQuery.raw('rollback')

/**
 * Kysely's driver over two SQLite connections: plain selects run on the read-only one, all else on the writer.
 *
 * Writes that arrive in the same turn of the event loop share one transaction and one fsync (group commit). Each is
 * answered only after the commit; one that fails does not take its neighbours down. An explicit transaction has
 * the writer to itself from its begin to its end: groups and other transactions wait for it.
 */
export class GroupCommitDriver implements Driver {
  readonly reader: Reader
  readonly #writer: Sqlite
  readonly #statements: Statements
  readonly #onCommit: OnCommit
  #group: PendingWrite[] = []
  #flushing = false
  /** resolves when the explicit transactions begun so far have ended */
  #transactions: Promise<void> = Promise.resolve()
  #open = 0

  constructor(reader: Sqlite, writer: Sqlite, onCommit: OnCommit = () => {}) {
    this.#onCommit = onCommit
    this.reader = new Reader(reader)
    this.#writer = writer
    this.#statements = new Statements(writer)
  }

  async init() {}

  async acquireConnection() {
    return new Connection(this)
  }

  async releaseConnection() {}

  async beginTransaction(connection: Connection, { isolationLevel }: TransactionSettings) {
    const earlier = this.#transactions
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#transactions = promise
    this.#open++
    connection.endTransaction = () => {
      connection.endTransaction = undefined
      this.#writer.pragma('foreign_keys = on')
      this.#open--
      resolve()
      this.#scheduleFlush()
    }
    await earlier
    try {
      // Inside a transaction SQLite ignores this.
      if (isolationLevel === WITHOUT_FOREIGN_KEYS) this.#writer.pragma('foreign_keys = off')
      this.#statements.run(BEGIN_IMMEDIATE)
    } catch (error) {
      connection.endTransaction()
      throw error
    }
  }

  async commitTransaction(connection: Connection) {
    this.#commit()
    connection.endTransaction?.()
  }

  async rollbackTransaction(connection: Connection) {
    try {
      // SQLite itself rolls back on a full disk or an I/O error.
      if (this.#writer.inTransaction) this.#statements.run(ROLLBACK)
    } finally {
      connection.endTransaction?.()
    }
  }

  async destroy() {
    if (this.#group.length > 0) this.#flush()
    this.reader.close()
    this.#writer.close()
  }

  async execute(query: CompiledQuery, inTransaction: boolean): Promise<QueryResult<unknown>> {
    if (inTransaction) return this.#statements.run(query)
    if (isRead(query)) return { rows: this.reader.select(query, query.parameters) }
    return this.write(query, query.parameters)
  }

  /** In the next group; resolves when it is on disk. */
  write(query: CompiledQuery, parameters: readonly unknown[]): Promise<QueryResult<unknown>> {
    return new Promise((resolve, reject) => {
      this.#group.push({ query, parameters, resolve, reject })
      this.#scheduleFlush()
    })
  }

  /** Before it, not after: a reader that still looks at an earlier moment would keep the log from starting over. */
  #commit() {
    this.reader.lookAgain()
    this.#statements.run(COMMIT)
  }

  #scheduleFlush() {
    if (this.#flushing || this.#open > 0 || this.#group.length === 0) return
    this.#flushing = true
    // After the poll phase: every request that has arrived by then is in the group.
    setImmediate(() => {
      this.#flushing = false
      // A transaction that began meanwhile flushes the group when it ends.
      if (this.#open === 0) this.#flush()
    })
  }

  #flush() {
    const group = this.#group
    this.#group = []
    const done: [PendingWrite, QueryResult<unknown>][] = []
    try {
      this.#statements.run(BEGIN_IMMEDIATE)
      for (const write of group) {
        try {
          done.push([write, this.#statements.run(write.query, write.parameters)])
        } catch (error) {
          // A broken constraint undoes its own statement only. On a full disk SQLite gives up the transaction.
          if (!this.#writer.inTransaction) throw error
          write.reject(error)
        }
      }
      const start = performance.now()
      this.#commit()
      this.#onCommit(group.length, performance.now() - start)
    } catch (error) {
      if (this.#writer.inTransaction) this.#statements.run(ROLLBACK)
      for (const write of group) write.reject(error)
      return
    }
    for (const [write, result] of done) write.resolve(result)
  }
}

/** Told of every group: how many writes shared the commit, and how long it took. */
export type OnCommit = (writes: number, milliseconds: number) => void

/** SQL that was written by hand reads if it starts like it; a pragma is about the writer. */
function isRead({ query, sql }: CompiledQuery): boolean {
  return query.kind === 'SelectQueryNode' || (query.kind === 'RawNode' && /^\s*select\b/i.test(sql))
}

interface PendingWrite {
  query: CompiledQuery
  parameters: readonly unknown[]
  resolve(result: QueryResult<unknown>): void
  reject(error: unknown): void
}

/** What Kysely holds while it runs a query or a transaction. */
class Connection implements DatabaseConnection {
  readonly #driver: GroupCommitDriver
  /** set while an explicit transaction runs on this connection */
  endTransaction: (() => void) | undefined

  constructor(driver: GroupCommitDriver) {
    this.#driver = driver
  }

  executeQuery<Row>(query: CompiledQuery) {
    return this.#driver.execute(query, this.endTransaction !== undefined) as Promise<QueryResult<Row>>
  }

  // biome-ignore lint/correctness/useYield: Kysely's interface asks for it, and nothing here streams.
  async *streamQuery(): AsyncIterableIterator<never> {
    throw new Error('Streaming is not supported.')
  }
}
