import type { Statement as Prepared, Database as Sqlite } from 'better-sqlite3'
import type { Row, Statement } from '../storage.ts'

/** Characters of SQL whose statements are kept. A statement takes up to a hundred bytes for each, and some are long. */
const MAX_LENGTH = 500_000

/**
 * Ends a read transaction. SQLite itself has ended it after an I/O error. After it met a damaged page, the commit ends it and
 * reports the same error once more, although nothing was written: whoever read has been told already.
 */
export function endRead(sqlite: Pick<Sqlite, 'inTransaction' | 'exec'>): void {
  if (!sqlite.inTransaction) return
  try {
    sqlite.exec('COMMIT')
  } catch (error) {
    if (sqlite.inTransaction) throw error
  }
}

/** One SQLite connection, its statements prepared once per SQL text; when there are too many, it starts over. */
export class Statements {
  readonly #sqlite: Sqlite
  readonly #known = new Map<string, Prepared>()
  #length = 0

  constructor(sqlite: Sqlite) {
    this.#sqlite = sqlite
  }

  of(sql: string): Prepared {
    const known = this.#known.get(sql)
    if (known) return known
    const statement = this.#sqlite.prepare(sql)
    this.#length += sql.length
    if (this.#length > MAX_LENGTH) {
      this.#known.clear()
      this.#length = sql.length
    }
    this.#known.set(sql, statement)
    return statement
  }

  /** The rows that a statement returns; none of one that only changes something. */
  run({ sql, parameters }: Statement): Row[] {
    const statement = this.of(sql)
    if (statement.reader) return statement.all(parameters) as Row[]
    statement.run(parameters)
    return []
  }
}
