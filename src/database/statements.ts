import type { Database as Sqlite, Statement } from 'better-sqlite3'
import type { CompiledQuery, QueryResult } from 'kysely'
import { Memo } from '../memo.ts'

/** The bound keeps odd queries from filling the memory. */
const MAX_STATEMENTS = 500

/** One SQLite connection, its statements prepared once per SQL text. */
export class Statements {
  readonly #sqlite: Sqlite
  readonly #known = new Memo<Statement>(MAX_STATEMENTS)

  constructor(sqlite: Sqlite) {
    this.#sqlite = sqlite
  }

  of({ sql }: CompiledQuery): Statement {
    return this.#known.get(sql) ?? this.#known.keep(sql, this.#sqlite.prepare(sql))
  }

  run(query: CompiledQuery, parameters = query.parameters): QueryResult<unknown> {
    const statement = this.of(query)
    if (statement.reader) return { rows: statement.all(parameters) }
    return { numAffectedRows: BigInt(statement.run(parameters).changes), rows: [] }
  }
}
