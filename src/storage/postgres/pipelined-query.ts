import pg from 'pg'
import type { Row } from '../storage.ts'

/** A statement with its parameters. The connection keeps it prepared under `name`; with an empty name, it does not. */
export interface PipelinedStatement {
  name: string
  text: string
  parameters: readonly unknown[]
}

/** Column names and parsers of a statement's rows. `empty` is a row of nulls. */
interface Columns {
  names: string[]
  parsers: ((text: string) => unknown)[]
  empty: Row
}

/** The statements that are prepared on a connection, by name. */
export type PreparedStatements = Map<string, Columns>

/** The part of pg's Connection that is used here. */
interface Wire {
  stream: { cork(): void; uncork(): void }
  close(statement: { type: 'S'; name: string }): void
  parse(statement: { name: string; text: string }): void
  bind(values: { portal: ''; statement: string; values: (string | null)[] }): void
  describe(portal: { type: 'P'; name: '' }): void
  execute(portal: { portal: ''; rows: 0 }): void
  sync(): void
}

interface Field {
  name: string
  dataTypeID: number
}

type ParserOf = (type: number) => (text: string) => unknown

const NONE: Columns = { names: [], parsers: [], empty: {} }

// In pipeline mode, pg accepts only instances of its own Query class. Its sending and parsing is overridden below.
const Query = pg.Query as unknown as new (text: string) => object

/**
 * Statements that are sent together with a single Sync, and answered together. pg itself would send each one separately
 * and have each described again. After a statement that fails, the server skips the rest.
 */
export class PipelinedQuery extends Query {
  /** Called when all statements are answered. After an error, `results` has those of the statements before it. */
  callback: (error: unknown, results: Row[][]) => void
  readonly #calls: PipelinedStatement[]
  readonly #prepared: PreparedStatements
  readonly #parserOf: ParserOf
  readonly #results: Row[][] = []
  readonly #described = new Map<string, Columns>()
  #rows: Row[] = []
  #isCommitted = false

  constructor(
    calls: PipelinedStatement[],
    prepared: PreparedStatements,
    parserOf: ParserOf,
    callback: PipelinedQuery['callback'],
  ) {
    super('')
    this.#calls = calls
    this.#prepared = prepared
    this.#parserOf = parserOf
    this.callback = callback
  }

  submit(wire: Wire): void {
    const sent = new Set<string>()
    wire.stream.cork()
    for (const { name, text, parameters } of this.#calls) {
      const isNew = name === '' || !(this.#prepared.has(name) || sent.has(name))
      // The name may still exist after a failed attempt. To close a name that does not exist is no error.
      if (isNew && name !== '') wire.close({ type: 'S', name })
      if (isNew) wire.parse({ name, text })
      wire.bind({ portal: '', statement: name, values: parameters.map(asText) })
      if (isNew) wire.describe({ type: 'P', name: '' })
      wire.execute({ portal: '', rows: 0 })
      sent.add(name)
    }
    wire.sync()
    wire.stream.uncork()
  }

  handleRowDescription({ fields }: { fields: Field[] }): void {
    const names = fields.map(({ name }) => name)
    const parsers = fields.map(({ dataTypeID }) => this.#parserOf(dataTypeID))
    this.#described.set(this.#name, { names, parsers, empty: Object.fromEntries(names.map((name) => [name, null])) })
  }

  handleDataRow({ fields }: { fields: (string | null)[] }): void {
    const { names, parsers, empty } = this.#columns
    const row = { ...empty }
    for (let nth = 0; nth < fields.length; nth++) {
      const text = fields[nth] as string | null
      if (text !== null) row[names[nth] as string] = (parsers[nth] as (text: string) => unknown)(text)
    }
    this.#rows.push(row)
  }

  handleCommandComplete({ text }: { text: string }): void {
    const name = this.#name
    if (name !== '') this.#prepared.set(name, this.#columns)
    this.#isCommitted ||= text === 'COMMIT'
    this.#results.push(this.#rows)
    this.#rows = []
  }

  handleReadyForQuery(): void {
    this.callback(undefined, this.#results)
  }

  handleError(error: unknown): void {
    // These names may be closed and not parsed again, even if another query had prepared them in the meantime.
    for (const { name } of this.#calls) this.#prepared.delete(name)
    // If the connection was lost after COMMIT was confirmed, all is written: that is a success.
    this.callback(this.#isCommitted ? undefined : error, this.#results)
  }

  /** Name of the statement that is being answered. */
  get #name(): string {
    return (this.#calls[this.#results.length] as PipelinedStatement).name
  }

  /** The query's own description comes first: another query may have prepared the name before the table changed. */
  get #columns(): Columns {
    return this.#described.get(this.#name) ?? this.#prepared.get(this.#name) ?? NONE
  }
}

const asText = (value: unknown) => (value === null || value === undefined ? null : String(value))
