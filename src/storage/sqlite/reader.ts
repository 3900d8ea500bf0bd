import type { Database as Sqlite } from 'better-sqlite3'
import { takeUpTo } from '../size.ts'
import type { Row, SearchResult, Statement } from '../storage.ts'
import { toFault } from './faults.ts'
import { endRead, Statements } from './statements.ts'

/** How long a snapshot is used. */
const SNAPSHOT_MS = 2

/**
 * A serving thread's own read-only connection. Reads within two milliseconds of one turn of the event loop share a
 * snapshot and take SQLite's locks only once, which is a good part of a read's cost. Every commit of this process ends
 * the snapshot, so clients see their own writes, whichever thread answers them. A commit of another process is seen two
 * milliseconds later at most.
 */
export class Reader {
  readonly #sqlite: Sqlite
  readonly #statements: Statements
  /** number of commits of this process, in memory that the writer thread shares with all serving threads */
  readonly #commits: Int32Array
  /** that number when the snapshot began */
  #commit = 0
  #since = 0
  /** whether a read transaction is open */
  #isInSnapshot = false
  #isKept = false
  #snapshot = 0
  #schema = -1
  #shapes = new Map<unknown, unknown>()

  constructor(sqlite: Sqlite, commits: Int32Array = new Int32Array(1)) {
    this.#sqlite = sqlite
    this.#commits = commits
    this.#statements = new Statements(sqlite)
  }

  /** Returns the rows of a select synchronously. */
  all({ sql, parameters }: Statement): Row[] {
    try {
      this.#ensureSnapshot()
      return this.#statements.prepare(sql).all(parameters) as Row[]
    } catch (error) {
      throw toFault(error)
    }
  }

  /** Returns the first row of a select. */
  first({ sql, parameters }: Statement): Row | undefined {
    try {
      this.#ensureSnapshot()
      return this.#statements.prepare(sql).get(parameters) as Row | undefined
    } catch (error) {
      throw toFault(error)
    }
  }

  /** Current shape of a table, also if another process has changed it. */
  shape(table: string): string | undefined {
    this.#ensureSnapshotOrFault()
    return this.#shapes.get(table) as string | undefined
  }

  /** Number of the current snapshot; each snapshot has another one. */
  snapshotId(): number {
    this.#ensureSnapshotOrFault()
    return this.#snapshot
  }

  /** Returns rows up to a size. It iterates over them, which takes twice as long as `all`. */
  upTo({ sql, parameters }: Statement, bytes: number): SearchResult {
    try {
      this.#ensureSnapshot()
      return takeUpTo(this.#statements.prepare(sql).iterate(parameters) as Iterable<Row>, bytes)
    } catch (error) {
      throw toFault(error)
    }
  }

  /** Whether a statement would scan or sort the whole table. */
  needsScan({ sql, parameters }: Statement, table: string): boolean {
    const plan = this.all({ sql: `EXPLAIN QUERY PLAN ${sql}`, parameters }) as { detail: string }[]
    return plan.some(({ detail }) => detail === `SCAN ${table}` || detail.includes('TEMP B-TREE FOR ORDER BY'))
  }

  endSnapshot(): void {
    if (!this.#isInSnapshot || this.#isKept) return
    this.#isInSnapshot = false
    try {
      endRead(this.#sqlite)
    } catch {
      // The callers cannot handle an error. The next read finds the transaction open, and throws if it cannot end it.
    }
  }

  /** Keeps the current snapshot, whatever is committed, until `releaseSnapshot` is called. */
  keepSnapshot(): void {
    this.#ensureSnapshot()
    this.#isKept = true
  }

  releaseSnapshot(): void {
    this.#isKept = false
    this.endSnapshot()
  }

  /** Loads the shapes again if `schema_version` has changed, as it does with every change of tables. */
  #loadShapes() {
    const [schema] = this.#statements.prepare('PRAGMA schema_version').raw().get() as [number]
    if (schema === this.#schema) return
    this.#schema = schema
    this.#shapes = new Map(
      this.#statements.prepare('SELECT tbl, shape FROM dossier_tables').raw().all() as [string, string][],
    )
  }

  close(): void {
    this.#sqlite.close()
  }

  #ensureSnapshotOrFault() {
    try {
      this.#ensureSnapshot()
    } catch (error) {
      throw toFault(error)
    }
  }

  #ensureSnapshot() {
    if (this.#isKept) return
    const now = performance.now()
    // Read before the snapshot begins: a commit in between only makes the next read begin another one.
    const commit = Atomics.load(this.#commits, 0)
    if (this.#isInSnapshot && commit === this.#commit && now - this.#since < SNAPSHOT_MS) return
    this.endSnapshot()
    this.#commit = commit
    endRead(this.#sqlite)
    this.#since = now
    this.#snapshot++
    this.#statements.prepare('begin').run()
    this.#isInSnapshot = true
    setImmediate(() => this.endSnapshot())
    this.#loadShapes()
  }
}
