import type { Database as Sqlite } from 'better-sqlite3'
import { takeUpTo } from '../size.ts'
import type { Row, SearchResult, Statement } from '../storage.ts'
import { toFault } from './faults.ts'
import { endRead, Statements } from './statements.ts'

/** How long a moment lasts. */
const MOMENT_MS = 2

/**
 * The serving thread's own connection, which only reads. What is read within two milliseconds of one turn of the event
 * loop is of one moment, and takes SQLite's locks once, which is a good part of what a read costs. Whatever this process
 * commits ends the moment (`lookAgain`), so nobody misses their own; what another process commits is seen two
 * milliseconds later at most.
 */
export class Reader {
  readonly #sqlite: Sqlite
  readonly #statements: Statements
  #since = 0
  /** a moment has begun, and not ended yet */
  #isLooking = false
  #isHeld = false
  #moment = 0
  #schema = -1
  #shapes = new Map<unknown, unknown>()

  constructor(sqlite: Sqlite) {
    this.#sqlite = sqlite
    this.#statements = new Statements(sqlite)
  }

  /** The rows of a select, at once: there is nothing to wait for. */
  all({ sql, parameters }: Statement): Row[] {
    try {
      this.#look()
      return this.#statements.of(sql).all(parameters) as Row[]
    } catch (error) {
      throw toFault(error)
    }
  }

  /** Its first row. */
  first({ sql, parameters }: Statement): Row | undefined {
    try {
      this.#look()
      return this.#statements.of(sql).get(parameters) as Row | undefined
    } catch (error) {
      throw toFault(error)
    }
  }

  /** The shape of a table, as whoever changed it last has left it, in this process or another. */
  shape(table: string): string | undefined {
    this.#lookOrFail()
    return this.#shapes.get(table) as string | undefined
  }

  /** Another number for every moment. */
  moment(): number {
    this.#lookOrFail()
    return this.#moment
  }

  /** Its rows one by one, which takes twice as long, until they get too large. */
  upTo({ sql, parameters }: Statement, bytes: number): SearchResult {
    try {
      this.#look()
      return takeUpTo(this.#statements.of(sql).iterate(parameters) as Iterable<Row>, bytes)
    } catch (error) {
      throw toFault(error)
    }
  }

  lookAgain(): void {
    if (!this.#isLooking || this.#isHeld) return
    this.#isLooking = false
    try {
      endRead(this.#sqlite)
    } catch {
      // Called from where nobody could be told: the next read finds the transaction open, and fails if it cannot end it.
    }
  }

  /** Stays at the moment that it is now, whatever is committed, until it is let go. */
  hold(): void {
    this.#look()
    this.#isHeld = true
  }

  letGo(): void {
    this.#isHeld = false
    this.lookAgain()
  }

  /** Whoever changes a table changes this number. */
  #lookAtSchema() {
    const [schema] = this.#statements.of('PRAGMA schema_version').raw().get() as [number]
    if (schema === this.#schema) return
    this.#schema = schema
    this.#shapes = new Map(
      this.#statements.of('SELECT tbl, shape FROM dossier_tables').raw().all() as [string, string][],
    )
  }

  close(): void {
    this.#sqlite.close()
  }

  #lookOrFail() {
    try {
      this.#look()
    } catch (error) {
      throw toFault(error)
    }
  }

  #look() {
    if (this.#isHeld) return
    const now = performance.now()
    if (this.#isLooking && now - this.#since < MOMENT_MS) return
    this.lookAgain()
    endRead(this.#sqlite)
    this.#since = now
    this.#moment++
    this.#statements.of('begin').run()
    this.#isLooking = true
    setImmediate(() => this.lookAgain())
    this.#lookAtSchema()
  }
}
