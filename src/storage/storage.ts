/** The interface of a storage engine. Code outside this folder asks it and `dialect.ts`, and never which engine runs. */
import type { Database, Dialect } from './dialect.ts'

export * from './dialect.ts'
export * from './faults.ts'

export type SqlValue = string | number | null

/** SQL literal of a value. */
export const literal = (value: SqlValue) =>
  typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value)

export type Row = Record<string, unknown>

/** Result of a read: SQLite returns it at once, PostgreSQL as a promise. */
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

/** Statements that are executed atomically. A unit is a plain value, so it can be sent to another thread. */
export interface Unit {
  /** shapes of the tables that the unit was made for; if one has changed since, the unit is rejected as `stale` */
  shapes?: Record<string, string>
  steps: Step[]
  /** username that the journal triggers record; null if absent */
  by?: string
  /** operation that the journal triggers record, where the statements alone do not show it */
  as?: 'restore'
  /** the journal gives all changes of the unit the same batch number */
  batch?: true
  /** units with the same name are executed one after the other, also across users and nodes */
  mutex?: string
  /** maximum size of the rows that the steps return; above it, the unit is rolled back */
  maxBytes?: number
  /** `write` resolves with `[]` instead of the rows */
  silent?: true
}

/** One statement of a unit. Its parameters may refer to results of earlier steps (`StepRef`, `PriorRowsRef`). */
export interface Step extends Statement {
  /** if the step returns no row, the unit is rolled back and rejected as `no-row` */
  mustReturnRow?: boolean
  /** record that is locked against changes by others, from before this step until the end of the unit */
  locks?: { table: string; id: number }
  /** the step deletes records: references are checked right after it, when cascades have deleted other records too */
  deletesRecords?: boolean
  /** the step checks what earlier ones have written: if it returns no row, nothing of that is allowed */
  isReachCheck?: boolean
  /** the returned rows are records; each version of a journalled record can be read again from the journal */
  returns?: 'record' | 'journalled record'
}

/** Stands for a parameter: a column of the first row that an earlier step returned. */
export interface StepRef {
  step: number
  column: string
}

/**
 * Stands for a parameter: the rows of all earlier steps as JSON. Rows of the steps in `stubs` are reduced to id and
 * version. If the JSON has more than `longest` characters, the rows of the steps in `stubsIfLong` are reduced as well.
 */
export interface PriorRowsRef {
  all: true
  stubs: number[]
  stubsIfLong: number[]
  longest: number
}

/** User, limits and abort signal of a search or a row stream. */
export interface SearchOptions {
  /** users take turns; each has at most one quick and one slow search running at a time */
  username: string
  seconds: number
  /** maximum size of the result; the rows are cut off there */
  bytes: number
  /** ends the search when the client no longer waits */
  signal?: AbortSignal | undefined
  /** shapes of the tables that the statement was made for; if one has changed since, the search fails as `stale` */
  shapes: Record<string, string>
}

export interface SearchResult {
  rows: Row[]
  /** whether rows were left out because of the size limit */
  isTruncated: boolean
}

export interface JobModule {
  module: string
  name: string
}

/**
 * Work on the tables: a function `(db, input)` that a module exports. It runs on another thread or connection, so its
 * input and result are plain values. A read job gets `onProgress` as a third argument.
 */
export interface Job<Input, Result> extends JobModule {
  /** how PostgreSQL executes a job that changes tables: by default in a transaction, one after the other */
  mode?: JobMode
  /** never set; tells the compiler the types of input and result */
  types?: (input: Input) => Result
}

/** `snapshot`: in one REPEATABLE READ transaction, beside other jobs. `no transaction`: each statement commits by itself. */
type JobMode = 'snapshot' | 'no transaction'

export const defineJob = <Input, Result>(module: string, name: string, mode?: JobMode): Job<Input, Result> =>
  mode ? { module, name, mode } : { module, name }

/** A function that a module exports; it turns streamed rows into text, and the text into bytes. */
export interface RowFormatter<Input> extends JobModule {
  types?: (input: Input) => RowText
}
export interface RowText {
  head: string
  format(row: Row): string
  /** the bytes of some text, if not those of UTF-8; and those after all rows */
  encode?(text: string): Uint8Array
  end?(): Uint8Array
}

/** Part of the text of a row stream, and the number of rows in it. */
export interface Chunk {
  bytes: Uint8Array
  rows: number
}

export interface Progress {
  done: number
  of: number
}

export interface LatestModels {
  generation: number
  fingerprint: string
  models: string
}

/** The models that all nodes of a shared database serve. The storage treats them as an opaque text. */
export interface PublishedModels {
  /** Number that grows whenever other models are published. */
  generation(): Promise<number>
  latest(): Promise<LatestModels | undefined>
  isKnown(fingerprint: string): Promise<boolean>
}

/** Figures for the metrics. */
export interface StorageStats {
  /** bytes of the database */
  database: number
  /** bytes of SQLite's write-ahead log; 0 for PostgreSQL */
  log: number
  /** open connections of this process to a database server */
  connections: number
  /** how often a unit was executed again, after a deadlock or a lost connection for example */
  retries: number
}

/** Callbacks for commits and for background work. */
export interface StorageEvents {
  /** Called after every group of units, also if all were rejected. `milliseconds`: of its commit (SQLite), of the group (PostgreSQL). */
  onGroup?(units: number, milliseconds: number): void
  /** Called when background work has failed, which is retried later. `what` names the work. */
  onError?(what: string, error: unknown): void
}

/** Callbacks around the commit of a change, and how long it waits for others. */
export interface WriteJobOptions {
  /** how long the job waits for a table that others use, before it fails as `busy`; others wait behind it */
  lockMs?: number
  /** ends the job, if the engine can do so; it fails as `busy` */
  signal?: AbortSignal
  /** Called when the job is done. In SQLite no other write happens until it resolves. PostgreSQL does not call it. */
  beforeCommit?: (() => Promise<void>) | undefined
  /**
   * Called right after the commit. In SQLite, reads of this thread see the state before the commit until then;
   * PostgreSQL has no such guarantee.
   */
  afterCommit?: (() => void) | undefined
}

export interface Storage {
  readonly db: Database
  readonly dialect: Dialect

  /** Bounded reads: by an index and with few rows, never a scan. */
  read(statement: Statement): MaybePromise<Row[]>
  readOne(statement: Statement): MaybePromise<Row | undefined>

  /** Like `read`, but the rows are cut off after so many bytes. The first row is always returned. */
  readUpTo(statement: Statement, bytes: number): MaybePromise<SearchResult>

  /** Current shape of a table; undefined if it is unknown. */
  shape(table: string): string | undefined
  /** Makes `shape` current: another process may have changed tables just now. */
  refreshShapes(): Promise<void>

  /** Cache key: an earlier read may be reused while it is the same, 2 ms at most. Each commit of this process changes it. */
  snapshotId(): number
  /** Like `snapshotId`, but on PostgreSQL always a new number, so that no earlier read is reused. */
  newSnapshotId(): number

  /** Runs a statement that may scan many rows, off the serving thread, until it ends, times out or is aborted. */
  search(statement: Statement, options: SearchOptions): Promise<SearchResult>

  /**
   * Streams all rows of a statement, from one snapshot, as text that `formatter` makes of them. Each stream has its own
   * thread, and runs as fast as the caller takes the chunks. It throws a `StorageFault`, and ends early if the caller
   * stops.
   */
  streamRows<Input>(
    statement: Statement,
    formatter: RowFormatter<Input>,
    input: Input,
    options: SearchOptions,
  ): AsyncGenerator<Chunk>

  /** Whether a statement would scan or sort the whole table. */
  needsScan(statement: Statement, table: string): MaybePromise<boolean>

  /**
   * Executes a unit of work. Resolves with the rows of each step (`[]` if `silent`) when the unit is on disk.
   *
   * Atomicity: all steps are executed or none. Units that arrive together may share a commit; one that fails affects no other.
   *
   * Order: a unit sees every unit whose promise had resolved before `write` was called, and reads that start after its
   * promise has resolved see it. Units that wait at the same time are executed in any order, also those of one user;
   * the users take turns. A caller that needs an order awaits the first unit, or gives both the same `mutex`.
   *
   * Rejects with a `StorageFault`. Its `details.step` names the step, where one is to blame. Kinds:
   *
   * | kind | reason | written |
   * |---|---|---|
   * | `no-row` | a step with `mustReturnRow` returned no row | no |
   * | `taken`, `dangling` | a unique value or a reference is violated | no |
   * | `stale`, `missing-table` | the table has another shape than in `shapes`, or is gone | no |
   * | `large`, `index-too-long`, `row-too-wide`, `unfit` | values exceed a bound of the engine or `maxBytes` | no |
   * | `busy` | too many units wait, the unit has waited too long for its turn or for a lock, the server cannot be reached, or the storage is closed | no |
   * | `full`, `damaged` | the disk has no room, or the file is broken | no |
   * | `slow` | a statement took longer than a minute (PostgreSQL) | no |
   * | `commit-unknown` | the connection was lost after the commit was sent | **unknown** |
   *
   * Any other error is a programming error; the unit was not written.
   */
  write(unit: Unit): Promise<Row[][]>

  /**
   * Runs a job that changes tables, in one transaction. Other writes wait: in SQLite all of them, in PostgreSQL those
   * to tables that the job has locked. An error, such as a `Refused`, rolls everything back. On PostgreSQL, a job with a
   * `mode` runs as `JobMode` describes, and `afterCommit` is not called.
   */
  runWriteJob<Input, Result>(job: Job<Input, Result>, input: Input, options?: WriteJobOptions): Promise<Result>

  /** Runs `work`, which calls `runWriteJob`, unless another process does the same: rejects as `busy`. May be absent. */
  runExclusively?<Result>(work: () => Promise<Result>): Promise<Result>

  /** Runs a job on another thread with a read-only connection, without a time limit. */
  runReadJob<Input, Result>(
    job: Job<Input, Result>,
    input: Input,
    onProgress?: (progress: Progress) => void,
  ): Promise<Result>

  /** All changes up to this number are visible: no transaction in progress can still commit a lower one. */
  readSettled(): MaybePromise<number>

  /** The models to serve, if several nodes may share the database; else undefined. */
  readonly published?: PublishedModels

  /** The key for cookies, cursors, tokens and hashes of requests. Made on first use; all processes share it. */
  signingKey(): MaybePromise<string>
  /** Stores the signing key of another database, unless this one already has one. */
  setSigningKey(key: string): MaybePromise<void>

  stats(): MaybePromise<StorageStats>

  /** A plain value from which another thread opens its `ThreadReads`; undefined if the engine has none. */
  readonly threadReadsStart?: object

  /** Makes a consistent copy of the database and checks it. Undefined if the engine has its own tools for backups. */
  backup?(target: string, onProgress?: (progress: Progress) => void): Promise<void>

  /** Writes all waiting units, then closes all connections and threads. */
  close(): Promise<void>
}
/** What functions that write to the service's own tables need of a storage. */
export type WriteStorage = Pick<Storage, 'db' | 'write'>

/** Prefix of the draft tables of a rebuild. Their references may point to tables that do not exist yet. */
export const DRAFT_PREFIX = 'dossier_draft__'
