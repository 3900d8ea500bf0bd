import type { Database as Sqlite, Statement } from 'better-sqlite3'
import { CompiledQuery, type DatabaseConnection, type Driver, type QueryResult, type TransactionSettings } from 'kysely'

/** Statements are prepared once per SQL text; the bound keeps odd queries from filling the memory. */
const MAX_STATEMENTS = 500

/**
 * A transaction with foreign keys off, for rebuilding tables. SQLite has no isolation levels (all its transactions are
 * serializable), and Kysely has no other way to tell a driver something about a transaction.
 */
export const WITHOUT_FOREIGN_KEYS = 'snapshot'

/**
 * Kysely's driver over two SQLite connections: plain selects run on the read-only one, all else on the writer.
 *
 * Writes that arrive in the same turn of the event loop share one transaction and one fsync (group commit). Each is
 * answered only after the commit; one that fails does not take its neighbours down. An explicit transaction has
 * the writer to itself from its begin to its end: groups and other transactions wait for it.
 */
export class GroupCommitDriver implements Driver {
  readonly #reader: Sqlite
  readonly #writer: Sqlite
  readonly #read: Runner
  readonly #write: Runner
  readonly #onCommit: OnCommit
  #group: PendingWrite[] = []
  #flushing = false
  /** resolves when the explicit transactions begun so far have ended */
  #transactions: Promise<void> = Promise.resolve()
  #open = 0

  constructor(reader: Sqlite, writer: Sqlite, onCommit: OnCommit = () => {}) {
    this.#onCommit = onCommit
    this.#reader = reader
    this.#writer = writer
    this.#read = statementRunner(reader)
    this.#write = statementRunner(writer)
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
      this.#write(CompiledQuery.raw('begin immediate'))
    } catch (error) {
      connection.endTransaction()
      throw error
    }
  }

  async commitTransaction(connection: Connection) {
    this.#write(CompiledQuery.raw('commit'))
    connection.endTransaction?.()
  }

  async rollbackTransaction(connection: Connection) {
    try {
      // SQLite itself rolls back on a full disk or an I/O error.
      if (this.#writer.inTransaction) this.#write(CompiledQuery.raw('rollback'))
    } finally {
      connection.endTransaction?.()
    }
  }

  async destroy() {
    if (this.#group.length > 0) this.#flush()
    this.#reader.close()
    this.#writer.close()
  }

  /** A select, at once: there is nothing to wait for. */
  select(query: CompiledQuery): unknown[] {
    return this.#read(query).rows
  }

  async execute(query: CompiledQuery, inTransaction: boolean): Promise<QueryResult<unknown>> {
    if (inTransaction) return this.#write(query)
    if (isRead(query)) return this.#read(query)
    return new Promise((resolve, reject) => {
      this.#group.push({ query, resolve, reject })
      this.#scheduleFlush()
    })
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
      this.#write(CompiledQuery.raw('begin immediate'))
      for (const write of group) {
        try {
          done.push([write, this.#write(write.query)])
        } catch (error) {
          // A broken constraint undoes its own statement only. On a full disk SQLite gives up the transaction.
          if (!this.#writer.inTransaction) throw error
          write.reject(error)
        }
      }
      const start = performance.now()
      this.#write(CompiledQuery.raw('commit'))
      this.#onCommit(group.length, performance.now() - start)
    } catch (error) {
      if (this.#writer.inTransaction) this.#write(CompiledQuery.raw('rollback'))
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

type Runner = (query: CompiledQuery) => QueryResult<unknown>

/** Runs compiled queries on one SQLite connection, the statements cached, least recently used first out. */
function statementRunner(sqlite: Sqlite): Runner {
  const statements = new Map<string, Statement>()
  return ({ sql, parameters }) => {
    let statement = statements.get(sql)
    if (statement) {
      statements.delete(sql)
    } else {
      statement = sqlite.prepare(sql)
      if (statements.size >= MAX_STATEMENTS) statements.delete(statements.keys().next().value as string)
    }
    statements.set(sql, statement)
    if (statement.reader) return { rows: statement.all(parameters) }
    return { numAffectedRows: BigInt(statement.run(parameters).changes), rows: [] }
  }
}
