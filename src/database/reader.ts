import type { Database as Sqlite } from 'better-sqlite3'
import { CompiledQuery } from 'kysely'
import { Statements } from './statements.ts'

const BEGIN = CompiledQuery.raw('begin')
const COMMIT = CompiledQuery.raw('commit')

/** How long a moment lasts. */
const MOMENT_MS = 2

/**
 * The read-only connection. What is read within two milliseconds of one turn of the event loop is of one moment, and
 * takes SQLite's locks once, which is a good part of what a read costs. Whatever this process commits ends the moment
 * (`lookAgain`), so nobody misses their own; what another process commits is seen two milliseconds later at most.
 */
export class Reader {
  readonly #sqlite: Sqlite
  readonly #statements: Statements
  #since = 0

  constructor(sqlite: Sqlite) {
    this.#sqlite = sqlite
    this.#statements = new Statements(sqlite)
  }

  /** The rows of a select, at once: there is nothing to wait for. */
  select(query: CompiledQuery, parameters: readonly unknown[]): unknown[] {
    this.#look()
    return this.#statements.of(query).all(parameters)
  }

  /** Its first row. */
  selectOne(query: CompiledQuery, parameters: readonly unknown[]): unknown {
    this.#look()
    return this.#statements.of(query).get(parameters)
  }

  lookAgain(): void {
    if (this.#sqlite.inTransaction) this.#statements.run(COMMIT)
  }

  close(): void {
    this.#sqlite.close()
  }

  #look() {
    const now = performance.now()
    if (this.#sqlite.inTransaction && now - this.#since < MOMENT_MS) return
    this.lookAgain()
    this.#since = now
    this.#statements.run(BEGIN)
    setImmediate(() => this.lookAgain())
  }
}
