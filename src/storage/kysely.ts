import {
  type CompiledQuery,
  type DatabaseConnection,
  DummyDriver,
  Kysely,
  type Dialect as KyselyDialect,
  type QueryResult,
} from 'kysely'
import type { AnyTables, Database, Dialect, MaybePromise, Row, Statement, Unit } from './storage.ts'

/** Executes one statement that Kysely has compiled. */
export type Execute = (query: CompiledQuery) => Row[] | Promise<Row[]>

/** The parts of a Kysely dialect except the driver, which executes statements. */
export type KyselyParts = Omit<KyselyDialect, 'createDriver'>

/** Kysely that passes each statement to `execute`. It has no transactions: use a unit of work or a job instead. */
export function createKysely(kyselyParts: KyselyParts, dialect: Dialect, execute: Execute): Database {
  const db = new Kysely<AnyTables>({ dialect: { ...kyselyParts, createDriver: () => new ExecuteDriver(execute) } })
  return Object.assign(db, { dialect })
}

/** A Kysely driver with one shared pseudo-connection that passes each statement to `execute`. */
class ExecuteDriver extends DummyDriver {
  readonly #connection: DatabaseConnection

  constructor(execute: Execute) {
    super()
    this.#connection = {
      executeQuery: async <Result>(query: CompiledQuery) =>
        ({ rows: await execute(query) }) as unknown as QueryResult<Result>,
      // biome-ignore lint/correctness/useYield: Kysely's interface requires a generator, and nothing here streams.
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

/** Executes what only reads with `read`, and anything else as a unit of work. */
export const readOrWrite =
  (read: (statement: Statement) => MaybePromise<Row[]>, write: (unit: Unit) => Promise<Row[][]>): Execute =>
  async (query) => {
    if (isRead(query)) return read(query)
    const [rows] = await write({ steps: [query] })
    return rows as Row[]
  }

/** Whether a statement only reads. Raw SQL counts as a read if it starts with SELECT. */
const isRead = ({ query, sql }: CompiledQuery): boolean =>
  query.kind === 'SelectQueryNode' || (query.kind === 'RawNode' && /^\s*select\b/i.test(sql))
