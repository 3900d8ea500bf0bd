import type { Database, Dialect } from './dialect.ts'

export * from './dialect.ts'
export * from './faults.ts'

/** What the house asks of an engine. Nothing outside this folder names one. */

export type SqlValue = string | number | null

/** A value as it stands in a text of SQL. */
export const literal = (value: SqlValue) =>
  typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value)

export type Row = Record<string, unknown>

/** What an engine may have at once, on the thread that serves, or only after a while. */
export type MaybePromise<Value> = Value | Promise<Value>

export interface Statement {
  readonly sql: string
  readonly parameters: readonly unknown[]
  /**
   * Set for reads of a model's table. PostgreSQL keeps them off the connection that reads the service's own tables: a
   * model's table may be locked while it is changed.
   */
  readonly readsRecords?: boolean
}

/** Marks a statement as a read of a model's table. */
export const recordRead = ({ sql, parameters }: Statement): Statement => ({ sql, parameters, readsRecords: true })

/** Some statements that are all carried out, or none of them. A plain value: it can be sent to another thread. */
export interface Unit {
  /** the shapes that it was made for, by table; if one is another by now, it is refused as stale */
  shapes?: Record<string, string>
  steps: Step[]
  /** who does it, for what is written down by itself; nobody if it is not said */
  by?: string
  /** what they do, where the statements do not tell */
  as?: 'restore'
  /** what it changes belongs together, for whoever looks at what has happened */
  batch?: true
  /** units of the same name are carried out one after the other, whoever writes them */
  alone?: string
  /** its rows may have so many bytes; else it is undone */
  maxBytes?: number
  /** nobody wants to know what its steps return */
  silent?: true
}

/** One statement of a unit. Among its parameters may be what an earlier step has returned. */
export interface Step extends Statement {
  /** if it returns no row, it has missed, and the unit is undone */
  must?: boolean
  /** a record that nobody else may change from before this step until the end of the unit */
  locks?: { table: string; id: number }
  /** deletes records: references are checked right after it, when the records that it takes along are deleted too */
  deletesRecords?: boolean
  /** its rows are records; of those that are journalled each version can be looked up again */
  returns?: 'record' | 'journalled record'
}

/** In the place of a parameter: a column of the row that an earlier step has returned. */
export interface StepRef {
  step: number
  column: string
}

/**
 * In the place of a parameter: the rows of all steps before, as JSON. Of some steps only the ids and versions, and of others
 * where it would have more characters than that.
 */
export interface PriorRowsRef {
  all: true
  stubs: number[]
  stubsIfLong: number[]
  longest: number
}

/** Who waits for a search, and for how long. */
export interface SearchOptions {
  /** one person's slow searches take turns among themselves */
  username: string
  seconds: number
  /** more than this is not read: the rows end earlier */
  bytes: number
  /** nobody waits any more */
  signal?: AbortSignal | undefined
  /** the shapes that the statement was made for; if one is another by now, the search is stale */
  shapes: Record<string, string>
}

export interface SearchResult {
  rows: Row[]
  /** there was more than the seeker's bytes */
  isCut: boolean
}

export interface JobModule {
  module: string
  name: string
}

/** Work on the tables that is done elsewhere: a function `(db, input)` that a module exports, all plain values. */
export interface Job<Input, Result> extends JobModule {
  /** never set; it lets the compiler know what goes in and comes out */
  types?: (input: Input) => Result
}

export const defineJob = <Input, Result>(module: string, name = 'run'): Job<Input, Result> => ({ module, name })

/** How rows become text, where they are gone through. */
export interface RowFormatter<Input> extends JobModule {
  types?: (input: Input) => { head: string; format(row: Row): string }
}

/** Some text, and how many rows are in it. */
export interface Chunk {
  bytes: Uint8Array
  rows: number
}

export interface Progress {
  done: number
  of: number
}

/** Which models nodes agree to serve. What a model is, is not known here: they are a text. */
export interface PublishedModels {
  /** grows whenever others are published */
  generation(): Promise<number>
  latest(): Promise<{ fingerprint: string; models: string } | undefined>
  isKnown(fingerprint: string): Promise<boolean>
}

/** What there is to count. */
export interface StorageStats {
  /** bytes */
  database: number
  /** of what is not in the database itself yet */
  log: number
  /** to a database elsewhere, of this process */
  connections: number
  /** units that were in the way of others, and were carried out anew */
  retries: number
}

/** What happens in a storage that nobody has asked for. */
export interface StorageEvents {
  /** Called after every commit: how many units shared it, and how long it took. */
  onCommit?(units: number, milliseconds: number): void
  /** Background work has failed; it is tried again. `what` says which. */
  onError?(what: string, error: unknown): void
}

export interface Storage {
  readonly db: Database
  readonly dialect: Dialect

  /** A bounded look, never a scan. */
  read(statement: Statement): MaybePromise<Row[]>
  readOne(statement: Statement): MaybePromise<Row | undefined>

  /** The same, but no more than so many bytes: the rows end earlier, after the first. */
  readUpTo(statement: Statement, bytes: number): MaybePromise<SearchResult>

  /** The shape that a table has now; undefined if none is known. */
  shape(table: string): string | undefined
  /** Makes sure that this is so in this very moment: others may have changed tables just now. */
  refreshShapes(): Promise<void>

  /** As long as this number is the same, so is everything that is read. */
  snapshotId(): number

  /** What may have to go through many rows, on another thread, until the time is over or nobody waits any more. */
  search(statement: Statement, seeker: SearchOptions): Promise<SearchResult>

  /**
   * Goes through all rows of a statement, of one moment, on a thread of its own, as fast as the pieces are taken. `text`
   * is a function `(input) => { head, format(row) }` that a module exports. Ends with a fault, or when nobody goes on.
   */
  streamRows<Input>(
    statement: Statement,
    text: RowFormatter<Input>,
    input: Input,
    seeker: SearchOptions,
  ): AsyncGenerator<Chunk>

  /** Whether a statement would go through a whole table, or sort it. */
  needsScan(statement: Statement, table: string): MaybePromise<boolean>

  /**
   * Executes a unit of work. Resolves with the rows of each step (`[]` if `silent`) when the unit is on disk.
   *
   * Atomicity: all steps are executed or none. Units that arrive together share a commit, but a unit that fails does not
   * affect the others.
   *
   * Order: a unit sees every unit whose promise had resolved before `write` was called, and reads that start after its
   * promise has resolved see it. Units that wait at the same time are executed in any order, also those of one user;
   * the users take turns. Who needs an order awaits the first unit, or gives both the same `alone`.
   *
   * Rejects with a `StorageFault`. Its `details.step` names the step, where one is to blame. Kinds:
   *
   * | kind | reason | certainly not written |
   * |---|---|---|
   * | `no-row` | a step with `must` returned no row | yes |
   * | `taken`, `dangling` | a unique value or a reference is violated | yes |
   * | `stale`, `missing-table` | the table has another shape than in `shapes`, or is gone | yes |
   * | `large`, `index-too-long`, `row-too-wide`, `unfit` | the values exceed a bound of the engine or of `maxBytes` | yes |
   * | `busy` | too many units wait, the unit has waited for too long, or the server cannot be reached | yes |
   * | `full`, `damaged` | the disk has no room, or the file is broken | yes |
   * | `commit-unknown` | the connection was lost after the commit was sent | **no** |
   *
   * Any other error is a programming error, or the storage is closed; the unit was not written.
   */
  write(unit: Unit): Promise<Row[][]>

  /**
   * Changes tables in one transaction; whoever else wants to write waits. A `Refused` undoes it all. What is read here
   * stays as it was before the commit until `swap` has been called, right after it.
   */
  change<Input, Result>(job: Job<Input, Result>, input: Input, swap?: () => void): Promise<Result>

  /** Looks at tables for as long as it takes, on another thread, and changes nothing. */
  runReadJob<Input, Result>(
    job: Job<Input, Result>,
    input: Input,
    onProgress?: (progress: Progress) => void,
  ): Promise<Result>

  /** Up to which number changes are all there: nobody who is still writing can have a lower one. */
  settled(): MaybePromise<number>

  /** Where several nodes share a database: the models that are served. */
  readonly published?: PublishedModels

  /** The secret that signs cookies, made when it is first asked for: the same for all who use this database. */
  secret(): MaybePromise<string>
  /** Takes over the secret of another database. */
  setSecret(secret: string): MaybePromise<void>

  /** What there is to count. */
  stats(): MaybePromise<StorageStats>

  /** A consistent copy of everything, checked; undefined where backups are somebody else's. */
  backup?(target: string, onProgress?: (progress: Progress) => void): Promise<void>

  /** Writes what waits, and closes. */
  close(): Promise<void>
}

/** Tables that are being made anew begin with this: what they refer to is not there yet. */
export const DRAFT_PREFIX = 'dossier_draft__'
