import { hash } from 'node:crypto'
import pg from 'pg'
import type { Row, Statement } from '../storage.ts'
import { numbered } from './text.ts'

/** Statements that a connection keeps ready; more are parsed whenever they come. */
const MOST_NAMED = 1000
const CONNECT_MS = 5000

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

/** One connection to PostgreSQL. What is sent goes out at once, one after the other, and is answered in that order. */
export class Connection {
  /** how many are open in this process */
  static count = 0
  readonly #client: pg.Client
  readonly #names = new Map<string, string>()

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

  /** A statement that comes again and again. */
  run({ sql, parameters }: Statement): Promise<Row[]> {
    return this.#send(numbered(sql), parameters, this.#nameOf(sql))
  }

  /** One that most likely does not. */
  runOnce({ sql, parameters }: Statement): Promise<Row[]> {
    return this.#send(numbered(sql), parameters)
  }

  /** The process on the other side. */
  async number(): Promise<number> {
    const [row] = await this.run({ sql: 'SELECT pg_backend_pid() AS number', parameters: [] })
    return row?.number as number
  }

  /** What has been sent is answered first. */
  async close(): Promise<void> {
    await this.#client.end().catch(() => {})
  }

  async #send(text: string, parameters: readonly unknown[], name?: string): Promise<Row[]> {
    const query = { text, values: parameters as unknown[], ...(name !== undefined && { name }) }
    // A text of several statements has several results.
    const result = (await this.#client.query(query)) as pg.QueryResult<Row> | pg.QueryResult<Row>[]
    const last = Array.isArray(result) ? (result.at(-1) as pg.QueryResult<Row>) : result
    return last.rows
  }

  #nameOf(sql: string): string | undefined {
    const known = this.#names.get(sql)
    if (known !== undefined || this.#names.size >= MOST_NAMED) return known
    const name = hash('sha256', sql).slice(0, 32)
    this.#names.set(sql, name)
    return name
  }
}
