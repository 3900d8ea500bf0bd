import type { Duplex } from 'node:stream'
import pg from 'pg'
import type { Row, Statement } from '../storage.ts'
import { isClosing } from './faults.ts'
import { PipelinedQuery, type PipelinedStatement, type PreparedStatements } from './pipelined-query.ts'
import { numberPlaceholders } from './placeholders.ts'

/** Maximum number of prepared statements per connection; any others are parsed each time. */
const MAX_NAMED = 1000
/** PostgreSQL's other clients have the same setting. */
const { PGCONNECT_TIMEOUT: CONNECT_SECONDS = 5 } = process.env
const CLOSE_MS = 2000

/** Parsers for boolean and bigint. As in SQLite, true is 1, and all integers are safe ones. */
const PARSERS: Record<number, (text: string) => unknown> = { 16: (text) => (text === 't' ? 1 : 0), 20: Number }
const types = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    PARSERS[oid] ?? pg.types.getTypeParser(oid, format as 'text'),
} as pg.CustomTypesConfig

/** Timeouts in milliseconds. The server enforces them, except `answer`, which the driver enforces. */
export interface Timeouts {
  lock?: number
  statement?: number
  idle?: number
  answer?: number
}

/** The results of a pipeline; with an error, those of the statements before it. */
export interface PipelineResult {
  results: Row[][]
  error: unknown
}

/** A connection to PostgreSQL in pipeline mode: queries are sent at once and answered in the same order. */
export class Connection {
  /** number of open connections, in memory that serving threads share */
  static counter = new Int32Array(new SharedArrayBuffer(4))
  readonly #client: pg.Client
  readonly #onEnd: () => void
  readonly #names = new Map<string, string>()
  readonly #prepared: PreparedStatements = new Map()

  private constructor(url: string, onEnd: () => void, { lock, statement, idle, answer }: Timeouts) {
    const config = {
      connectionString: url,
      application_name: 'dossier',
      connectionTimeoutMillis: Number(CONNECT_SECONDS) * 1000,
      keepAlive: true,
      ...(lock && { lock_timeout: lock }),
      ...(statement && { statement_timeout: statement }),
      ...(idle && { idle_in_transaction_session_timeout: idle }),
      ...(answer && { query_timeout: answer }),
      pipeline: true,
      types,
    }
    this.#onEnd = onEnd
    this.#client = new pg.Client(config as pg.ClientConfig)
    this.#client.on('error', onEnd)
    this.#client.on('end', onEnd)
  }

  static async open(url: string, onEnd: () => void = () => {}, timeouts: Timeouts = {}): Promise<Connection> {
    const connection = new Connection(url, onEnd, timeouts)
    await connection.#client.connect()
    Atomics.add(Connection.counter, 0, 1)
    connection.#client.once('end', () => Atomics.sub(Connection.counter, 0, 1))
    return connection
  }

  /** Opens a connection for `use`, and closes it afterwards. */
  static async with<Result>(
    url: string,
    use: (connection: Connection) => Promise<Result>,
    timeouts: Timeouts = {},
  ): Promise<Result> {
    const connection = await Connection.open(url, () => {}, timeouts)
    return use(connection).finally(() => connection.close())
  }

  /** Makes the connection read-only. */
  async setReadOnly(): Promise<void> {
    await this.runUnprepared({ sql: 'SET default_transaction_read_only = on', parameters: [] })
  }

  /** Executes statements in one pipeline, and keeps them prepared for the next time. */
  runAll(statements: Statement[]): Promise<PipelineResult> {
    return this.#exchange(
      statements.map(({ sql, parameters }) => ({ name: this.#nameOf(sql), text: numberPlaceholders(sql), parameters })),
    )
  }

  /** Like `runAll`, for statements that are unlikely to come again: they are not kept prepared. */
  runAllUnprepared(statements: Statement[]): Promise<PipelineResult> {
    return this.#exchange(
      statements.map(({ sql, parameters }) => ({ name: '', text: numberPlaceholders(sql), parameters })),
    )
  }

  #exchange(calls: PipelinedStatement[]): Promise<PipelineResult> {
    return new Promise((resolve) => {
      const callback = (error: unknown, results: Row[][] = []) => {
        // The driver notices the end later: what is tried again at once needs another connection.
        if (isClosing(error)) this.#onEnd()
        resolve({ error, results })
      }
      this.#client.query(
        new PipelinedQuery(calls, this.#prepared, types.getTypeParser, callback) as unknown as pg.Submittable,
      )
    })
  }

  /** Executes one statement, and keeps it prepared. */
  async run(statement: Statement): Promise<Row[]> {
    const { error, results } = await this.runAll([statement])
    if (error) throw error
    return results[0] as Row[]
  }

  /** Executes a statement that is unlikely to come again, or several in one text; returns the rows of the last. */
  async runUnprepared({ sql, parameters }: Statement): Promise<Row[]> {
    const query = { text: numberPlaceholders(sql), values: parameters as unknown[] }
    // pg returns an array of results for a text with several statements.
    const result = (await this.#client.query(query)) as pg.QueryResult<Row> | pg.QueryResult<Row>[]
    const last = Array.isArray(result) ? (result.at(-1) as pg.QueryResult<Row>) : result
    return last.rows
  }

  /** Process id of the server's backend for this connection. */
  async backendPid(): Promise<number> {
    const [row] = await this.run({ sql: 'SELECT pg_backend_pid() AS number', parameters: [] })
    return row?.number as number
  }

  /** Closes after all queries sent are answered, or after CLOSE_MS. */
  async close(): Promise<void> {
    const deadline = setTimeout(() => this.destroy(), CLOSE_MS).unref()
    await this.#client.end().catch(() => {})
    clearTimeout(deadline)
  }

  /** Destroys the socket, for a server that does not answer. All queries in progress fail. */
  destroy(): void {
    const { stream } = (this.#client as unknown as { connection: { stream: Duplex } }).connection
    stream.destroy()
  }

  #nameOf(sql: string): string {
    const cachedName = this.#names.get(sql)
    if (cachedName !== undefined) return cachedName
    if (this.#names.size >= MAX_NAMED) return ''
    const name = `s${this.#names.size}`
    this.#names.set(sql, name)
    return name
  }
}
