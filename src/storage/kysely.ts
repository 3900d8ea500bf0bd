import {
  type CompiledQuery,
  type DatabaseConnection,
  DummyDriver,
  Kysely,
  type Dialect as KyselyDialect,
  type QueryResult,
} from 'kysely'
import type { AnyTables, Database, Dialect, Row } from './storage.ts'

/** Carries out one statement that Kysely has put together. */
export type Execute = (query: CompiledQuery) => Row[] | Promise<Row[]>

/** How Kysely speaks to an engine, but for carrying out statements. */
export type KyselyParts = Omit<KyselyDialect, 'createDriver'>

/** Kysely over whatever carries out its statements, one by one. What belongs together is a unit of work, or a job. */
export function createKysely(speech: KyselyParts, dialect: Dialect, execute: Execute): Database {
  const db = new Kysely<AnyTables>({ dialect: { ...speech, createDriver: () => new OneByOne(execute) } })
  return Object.assign(db, { dialect })
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

/** Whether a statement only looks. SQL that was written by hand does if it starts like it. */
export const isRead = ({ query, sql }: CompiledQuery): boolean =>
  query.kind === 'SelectQueryNode' || (query.kind === 'RawNode' && /^\s*select\b/i.test(sql))
