import type { Statement as Prepared, Database as Sqlite } from 'better-sqlite3'
import type { Row, Statement } from '../storage.ts'

/** Characters of SQL whose statements are cached. Each character costs up to a hundred bytes, and some SQL is long. */
const MAX_LENGTH = 500_000

/**
 * Ends a read transaction. After an I/O error, SQLite has already ended it. After a damaged page, COMMIT ends it but
 * throws the same error again, although nothing was written; that is ignored, as the read has already thrown it.
 */
export function endRead(sqlite: Pick<Sqlite, 'inTransaction' | 'exec'>): void {
  if (!sqlite.inTransaction) return
  try {
    sqlite.exec('COMMIT')
  } catch (error) {
    if (sqlite.inTransaction) throw error
  }
}

/** Cache of a connection's prepared statements by SQL text. It is cleared when it gets too large. */
export class Statements {
  readonly #sqlite: Sqlite
  readonly #known = new Map<string, Prepared>()
  #length = 0

  constructor(sqlite: Sqlite) {
    this.#sqlite = sqlite
  }

  prepare(sql: string): Prepared {
    const cached = this.#known.get(sql)
    if (cached) return cached
    const statement = this.#sqlite.prepare(sql)
    this.#length += sql.length
    if (this.#length > MAX_LENGTH) {
      this.#known.clear()
      this.#length = sql.length
    }
    this.#known.set(sql, statement)
    return statement
  }

  /** Executes a statement and returns its rows; none if the statement returns no data. */
  run({ sql, parameters }: Statement): Row[] {
    const statement = this.prepare(sql)
    if (statement.reader) return statement.all(parameters) as Row[]
    statement.run(parameters)
    return []
  }
}
