import { takeUpTo } from '../size.ts'
import { type Row, type SearchResult, type Statement, staleShape } from '../storage.ts'
import { isConnectionLost, isLockTimeout, isRetryable, toFault } from './faults.ts'
import { KNOWN_SHAPES } from './known-shapes.ts'
import { SharedConnection } from './shared-connection.ts'

/**
 * Connections that bounded reads of records share: each read is sent at once, and none takes long. Reads of the
 * service's own tables have another connection, so that they do not wait behind a read of a table that is locked for a
 * change.
 */
const CONNECTIONS = 2
const LIMITS = { lock: 50, statement: 5000, answer: 8000 }
/** Limits of the connection for reads of tables that are being changed. */
const PATIENT_LIMITS = { lock: 10_000, statement: 15_000, answer: 20_000 }

/** How often a read is repeated that a deadlock has ended. */
const TRIES = 3

/** How long `snapshotId` returns the same number. */
const MOMENT_MS = 2

/**
 * Bounded reads. A read is repeated once if its connection was lost, its table is locked or its prepared statement no
 * longer fits.
 */
export class Reader {
  /** the shapes that this node knows, as `Shapes` has read them last */
  knownShapes: Row[] = []
  readonly #own: SharedConnection
  readonly #connections: SharedConnection[]
  /** open only while reads wait for tables that are being changed */
  readonly #patient: SharedConnection
  #waiting = 0
  /** statements that read a table which is being changed: they do not hold up the reads of other tables */
  readonly #locked = new Set<string>()
  #next = 0
  #moment = 0
  #since = Number.NEGATIVE_INFINITY

  constructor(url: string) {
    this.#own = new SharedConnection(url, LIMITS)
    this.#connections = Array.from({ length: CONNECTIONS }, () => new SharedConnection(url, LIMITS))
    this.#patient = new SharedConnection(url, PATIENT_LIMITS)
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
    await Promise.all([this.#own, this.#patient, ...this.#connections].map((shared) => shared.close()))
  }

  async #run(statement: Statement): Promise<Row[]> {
    const shared = statement.readsRecords
      ? (this.#connections[this.#next++ % CONNECTIONS] as SharedConnection)
      : this.#own
    return (await shared.get()).run(statement)
  }

  async #again(statement: Statement, known: Row[], failed: unknown, tries = 1): Promise<Row[]> {
    try {
      // A lost connection is opened again by itself.
      if (isConnectionLost(failed)) return await this.#run(statement)
      if (isRetryable(failed)) this.renew()
      return await this.#runPatiently(statement, known)
    } catch (error) {
      if (!isRetryable(error) || tries === TRIES) throw toFault(error)
    }
    return this.#again(statement, known, failed, tries + 1)
  }

  /**
   * Waits for a table that is being changed, on a connection of its own. The table may have another shape afterwards than
   * the `known` ones, which the statement does not fit, even if it can be executed.
   */
  async #runPatiently(statement: Statement, known: Row[]): Promise<Row[]> {
    this.#waiting++
    try {
      const connection = await this.#patient.get()
      const { error, results } = await connection.runAllOnce([statement, KNOWN_SHAPES])
      if (error) throw error
      const [rows, shapes] = results as [Row[], Row[]]
      if (shapesKey(shapes) !== shapesKey(known)) throw staleShape()
      return rows
    } finally {
      if (--this.#waiting === 0) {
        this.#locked.clear()
        this.#patient.renew()
      }
    }
  }
}

const shapesKey = (rows: Row[]) => JSON.stringify(rows.map(({ tbl, shape }) => [tbl, shape]).sort())
