import {
  type CompiledQuery,
  type DatabaseConnection,
  DummyDriver,
  Kysely,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely'
import type { AnyTables, Database, Row } from '../storage.ts'

/** Carries out one statement that Kysely has put together. */
export type Execute = (query: CompiledQuery) => Row[] | Promise<Row[]>

/** Kysely over whatever carries out its statements, one by one. What belongs together is a unit of work, or a job. */
export function kyselyOver(execute: Execute): Database {
  return new Kysely<AnyTables>({
    dialect: {
      createAdapter: () => new ManyConnections(),
      createDriver: () => new OneByOne(execute),
      createIntrospector: (db) => new SqliteIntrospector(db),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    },
  })
}

/** Kysely would serialise all queries of a one-connection dialect. */
class ManyConnections extends SqliteAdapter {
  override get supportsMultipleConnections() {
    return true
  }
}

/** Kysely's driver that does nothing, but for carrying out statements. */
class OneByOne extends DummyDriver {
  readonly #connection: DatabaseConnection

  constructor(execute: Execute) {
    super()
    this.#connection = {
      executeQuery: async <Result>(query: CompiledQuery) =>
        ({ rows: await execute(query) }) as unknown as QueryResult<Result>,
      // biome-ignore lint/correctness/useYield: Kysely's interface asks for it, and nothing here streams.
      streamQuery: async function* (): AsyncIterableIterator<never> {
        throw new Error('Streaming is not supported.')
      },
    }
  }

  override async acquireConnection() {
    return this.#connection
  }

  override async beginTransaction(): Promise<never> {
    throw new Error('There are no open transactions here: write a unit of work.')
  }
}
