import type { Duplex } from 'node:stream'
import pg from 'pg'
import type { Row, Statement } from '../storage.ts'
import { type PipelineCallbacks, PipelinedQuery, type Ready } from './pipelined-query.ts'
import { numbered } from './placeholders.ts'

/** Statements that a connection keeps ready; more are parsed whenever they come. */
const MAX_NAMED = 1000
const CONNECT_MS = 5000
const CLOSE_MS = 2000

/** Numbers and truth as SQLite has them: whole numbers are safe ones, and true is 1. */
const PARSERS: Record<number, (text: string) => unknown> = { 16: (text) => (text === 't' ? 1 : 0), 20: Number }
const types = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    PARSERS[oid] ?? pg.types.getTypeParser(oid, format as 'text'),
} as pg.CustomTypesConfig

/** Milliseconds after which something is given up: by the server, and at last by this side. */
export interface Limits {
  lock?: number
  statement?: number
  idle?: number
  answer?: number
}

/** What has come of some statements. */
export interface QueryResult {
  results: Row[][]
  error: unknown
}

/** One connection to PostgreSQL. What is sent goes out at once, one after the other, and is answered in that order. */
export class Connection {
  /** how many are open in this process */
  static count = 0
  readonly #client: pg.Client
  readonly #names = new Map<string, string>()
  readonly #ready: Ready = new Map()

  private constructor(url: string, onEnd: () => void, { lock, statement, idle, answer }: Limits) {
    const config = {
      connectionString: url,
      application_name: 'dossier',
      connectionTimeoutMillis: CONNECT_MS,
      keepAlive: true,
      ...(lock && { lock_timeout: lock }),
      ...(statement && { statement_timeout: statement }),
      ...(idle && { idle_in_transaction_session_timeout: idle }),
      ...(answer && { query_timeout: answer }),
      pipeline: true,
      types,
    }
    this.#client = new pg.Client(config as pg.ClientConfig)
    this.#client.on('error', onEnd)
    this.#client.on('end', onEnd)
  }

  static async open(url: string, onEnd: () => void = () => {}, limits: Limits = {}): Promise<Connection> {
    const connection = new Connection(url, onEnd, limits)
    await connection.#client.connect()
    Connection.count++
    connection.#client.once('end', () => Connection.count--)
    return connection
  }

  /** One for a single purpose. */
  static async with<Result>(
    url: string,
    use: (connection: Connection) => Promise<Result>,
    limits: Limits = {},
  ): Promise<Result> {
    const connection = await Connection.open(url, () => {}, limits)
    return use(connection).finally(() => connection.close())
  }

  /** From here on nothing can be changed. */
  async onlyRead(): Promise<void> {
    await this.runOnce({ sql: 'SET default_transaction_read_only = on', parameters: [] })
  }

  /** Statements that come again and again, in one go: the results of all, or of those before the one that has failed. */
  runAll(statements: Statement[]): Promise<QueryResult> {
    return this.#exchange(
      statements.map(({ sql, parameters }) => ({ name: this.#nameOf(sql), text: numbered(sql), parameters })),
    )
  }

  /** Some that most likely do not come again. */
  runAllOnce(statements: Statement[]): Promise<QueryResult> {
    return this.#exchange(statements.map(({ sql, parameters }) => ({ name: '', text: numbered(sql), parameters })))
  }

  #exchange(calls: PipelineCallbacks[]): Promise<QueryResult> {
    return new Promise((resolve) => {
      const callback = (error: unknown, results: Row[][] = []) => resolve({ error, results })
      this.#client.query(
        new PipelinedQuery(calls, this.#ready, types.getTypeParser, callback) as unknown as pg.Submittable,
      )
    })
  }

  /** One of them. */
  async run(statement: Statement): Promise<Row[]> {
    const { error, results } = await this.runAll([statement])
    if (error) throw error
    return results[0] as Row[]
  }

  /** One that most likely does not come again, or several in one text. */
  async runOnce({ sql, parameters }: Statement): Promise<Row[]> {
    const query = { text: numbered(sql), values: parameters as unknown[] }
    // A text of several statements has several results.
    const result = (await this.#client.query(query)) as pg.QueryResult<Row> | pg.QueryResult<Row>[]
    const last = Array.isArray(result) ? (result.at(-1) as pg.QueryResult<Row>) : result
    return last.rows
  }

  /** The process on the other side. */
  async number(): Promise<number> {
    const [row] = await this.run({ sql: 'SELECT pg_backend_pid() AS number', parameters: [] })
    return row?.number as number
  }

  /** What has been sent is answered first, if anybody answers. */
  async close(): Promise<void> {
    const deadline = setTimeout(() => this.abandon(), CLOSE_MS).unref()
    await this.#client.end().catch(() => {})
    clearTimeout(deadline)
  }

  /** Nobody answers: whatever is under way fails. */
  abandon(): void {
    const { stream } = (this.#client as unknown as { connection: { stream: Duplex } }).connection
    stream.destroy()
  }

  #nameOf(sql: string): string {
    const known = this.#names.get(sql)
    if (known !== undefined) return known
    if (this.#names.size >= MAX_NAMED) return ''
    const name = `s${this.#names.size}`
    this.#names.set(sql, name)
    return name
  }
}
