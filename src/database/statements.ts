import type { Database as Sqlite, Statement } from 'better-sqlite3'
import type { CompiledQuery, QueryResult } from 'kysely'

/** Characters of SQL whose statements are kept. A statement takes up to a hundred bytes for each, and some are long. */
const MAX_LENGTH = 500_000

/** One SQLite connection, its statements prepared once per SQL text; when there are too many, it starts over. */
export class Statements {
  readonly #sqlite: Sqlite
  readonly #known = new Map<string, Statement>()
  #length = 0

  constructor(sqlite: Sqlite) {
    this.#sqlite = sqlite
  }

  of({ sql }: CompiledQuery): Statement {
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

  run(query: CompiledQuery, parameters = query.parameters): QueryResult<unknown> {
    const statement = this.of(query)
    if (statement.reader) return { rows: statement.all(parameters) }
    return { numAffectedRows: BigInt(statement.run(parameters).changes), rows: [] }
  }
}
