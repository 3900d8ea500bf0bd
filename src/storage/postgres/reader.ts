import { takeUpTo } from '../size.ts'
import type { Row, SearchResult, Statement } from '../storage.ts'
import { isConnectionLost, isLockTimeout, isRetryable, toFault } from './faults.ts'
import { READ_SHAPES, requireUnchangedShapes } from './require-shapes.ts'
import { SharedConnection } from './shared-connection.ts'

/** Only a table that is being changed is locked against reads: its reads move to the patient connection soon. */
const TIMEOUTS = { lock: 10, statement: 5000, answer: 8000 }
/** Limits of the connection for reads of tables that are being changed. */
const PATIENT_TIMEOUTS = { lock: 10_000, statement: 15_000, answer: 20_000 }

/** How often a read is tried that a deadlock or an outdated prepared statement has ended. */
const MAX_ATTEMPTS = 3

/** How long `snapshotId` returns the same number. */
const SNAPSHOT_MS = 2

/**
 * Bounded reads. They share few connections: each read is sent at once, and none takes long. A read is repeated once if
 * its connection was lost or its table is locked; after a deadlock, or if its prepared statement no longer fits, up to
 * `MAX_ATTEMPTS` times.
 */
export class Reader {
  /** the shapes of tables that this thread knows, by name, as `Shapes` keeps them */
  knownShapes: ReadonlyMap<unknown, unknown> = new Map()
  readonly #own: SharedConnection
  readonly #connections: SharedConnection[]
  /** open only while reads wait for tables that are being changed */
  readonly #patient: SharedConnection
  #waiting = 0
  /** statements that read a table which is being changed: they do not hold up the reads of other tables */
  readonly #locked = new Set<string>()
  #next = 0
  /** number of commits of this process, in memory that all serving threads share */
  readonly #commits: Int32Array
  /** that number when the current snapshot began */
  #commit = -1
  #snapshot = 0
  #since = 0

  /**
   * `forRecords`: connections for reads of records only, so that reads of the service's own tables do not wait behind
   * one of a table that is locked for a change. With 0, all reads share one connection.
   */
  constructor(url: string, commits: Int32Array, forRecords: number) {
    this.#commits = commits
    this.#own = new SharedConnection(url, TIMEOUTS)
    this.#connections = Array.from({ length: forRecords }, () => new SharedConnection(url, TIMEOUTS))
    this.#patient = new SharedConnection(url, PATIENT_TIMEOUTS)
  }

  async all(statement: Statement): Promise<Row[]> {
    const known = this.knownShapes
    try {
      return await (this.#locked.has(statement.sql) ? this.#runPatiently(statement, known) : this.#run(statement))
    } catch (error) {
      if (isLockTimeout(error)) this.#locked.add(statement.sql)
      else if (!isConnectionLost(error) && !isRetryable(error)) throw toFault(error)
      return this.#again(statement, known, error)
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
    const isCurrent = Atomics.load(this.#commits, 0) === this.#commit && performance.now() - this.#since < SNAPSHOT_MS
    return isCurrent ? this.#snapshot : this.newSnapshotId()
  }

  newSnapshotId(): number {
    this.#commit = Atomics.load(this.#commits, 0)
    this.#since = performance.now()
    return ++this.#snapshot
  }

  /** Ends the current snapshot of all serving threads. */
  endSnapshots(): void {
    Atomics.add(this.#commits, 0, 1)
  }

  /** Replaces all connections, after tables have changed. */
  renew(): void {
    for (const shared of [this.#own, ...this.#connections]) shared.renew()
  }

  async close(): Promise<void> {
    await Promise.all([this.#own, this.#patient, ...this.#connections].map((shared) => shared.close()))
  }

  async #run(statement: Statement): Promise<Row[]> {
    const forRecords = statement.readsRecords && this.#connections[this.#next++ % this.#connections.length]
    return (await (forRecords || this.#own).get()).run(statement)
  }

  async #again(statement: Statement, known: Reader['knownShapes'], failed: unknown, attempts = 1): Promise<Row[]> {
    try {
      // A lost connection is opened again by itself.
      if (isConnectionLost(failed)) return await this.#run(statement)
      if (isRetryable(failed)) this.renew()
      return await this.#runPatiently(statement, known)
    } catch (error) {
      if (!isRetryable(error) || attempts === MAX_ATTEMPTS) throw toFault(error)
    }
    return this.#again(statement, known, failed, attempts + 1)
  }

  /**
   * Waits for a table that is being changed, on a connection of its own. The table may have another shape afterwards
   * than the `known` ones, which the statement does not fit, even if it can be executed.
   */
  async #runPatiently(statement: Statement, known: Reader['knownShapes']): Promise<Row[]> {
    this.#waiting++
    try {
      const connection = await this.#patient.get()
      const { error, results } = await connection.runAllUnprepared([statement, READ_SHAPES])
      if (error) throw error
      const [rows, shapes] = results as [Row[], Row[]]
      requireUnchangedShapes(shapes, known)
      return rows
    } finally {
      if (--this.#waiting === 0) {
        this.#locked.clear()
        this.#patient.renew()
      }
    }
  }
}
