import { randomBytes } from 'node:crypto'
import { startThread } from '../../lib/threads.ts'
import { JobPool } from '../job-pool.ts'
import { readOrWrite } from '../kysely.ts'
import { RowStreams } from '../row-streams.ts'
import { Searches } from '../searches.ts'
import type {
  Chunk,
  Database,
  Job,
  Progress,
  PublishedModels,
  Row,
  RowFormatter,
  SearchOptions,
  SearchResult,
  Statement,
  Storage,
  StorageEvents,
  StorageStats,
  Unit,
  WriteJobOptions,
} from '../storage.ts'
import { DatabaseError } from '../storage.ts'
import { compactCounts } from './compact-counts.ts'
import { Connection } from './connection.ts'
import { DIALECT } from './dialect.ts'
import { explainOpening, toFault } from './faults.ts'
import { createKyselyDatabase } from './kysely.ts'
import { needsScan } from './needs-scan.ts'
import { createPublished } from './published.ts'
import { Reader } from './reader.ts'
import { migrateSchema } from './schema.ts'
import { PostgresSearcher } from './searcher.ts'
import { Shapes } from './shapes.ts'
import { readSigningKey, SIGNING_KEY } from './signing-key.ts'
import type { ThreadReadsStart } from './thread-reads.ts'
import { runExclusively, runWriteJob } from './write-job.ts'
import { WriteQueue } from './write-queue.ts'

/** Opens a database, and migrates the service's own tables in it. */
export async function openStorage(url: string, events: StorageEvents = {}, servingThreads = 1): Promise<Storage> {
  try {
    await Connection.with(url, migrateSchema)
    const storage = new PostgresStorage(url, events, servingThreads)
    await storage.begin()
    return storage
  } catch (error) {
    throw explainOpening(url, error)
  }
}

/** Opens a database read-only for `look`, and closes it again. */
export async function inspectDatabase<Result>(url: string, look: (db: Database) => Promise<Result>): Promise<Result> {
  const work = async (connection: Connection) => {
    await connection.setReadOnly()
    return look(createKyselyDatabase((query) => connection.runUnprepared(query)))
  }
  return Connection.with(url, work).catch((error) => {
    throw explainOpening(url, toFault(error))
  })
}

const OTHERS = `SELECT 1 FROM pg_stat_activity
  WHERE application_name = 'dossier' AND datname = current_database() AND pid <> pg_backend_pid() LIMIT 1`

/** Throws if another process of Dossier is connected to the database. */
export async function requireStopped(url: string): Promise<void> {
  const work = (connection: Connection) => connection.run({ sql: OTHERS, parameters: [] })
  const rows = await Connection.with(url, work).catch((error) => {
    throw explainOpening(url, toFault(error))
  })
  if (rows.length > 0) throw new DatabaseError('The service is running. Stop all of its nodes first.')
}

/** Quick and slow searches that run at a time. */
const QUICK = 3
const SLOW = 3

const SIZE = 'SELECT pg_database_size(current_database()) AS bytes'

/**
 * PostgreSQL behind the storage interface. Bounded reads share three connections, one of them for the service's own
 * tables; if further threads serve, the main one has two, and each other one has one. Writes have two connections, and
 * each search at a time has one. Read jobs and row streams run on threads of their own, with a connection each.
 */
class PostgresStorage implements Storage {
  readonly db: Database
  readonly dialect = DIALECT
  readonly published: PublishedModels
  readonly threadReadsStart: ThreadReadsStart
  readonly #url: string
  readonly #reader: Reader
  readonly #writeQueue: WriteQueue
  readonly #searches: Searches
  readonly #rowStreams: RowStreams
  readonly #jobPool: JobPool
  readonly #shapes: Shapes
  readonly #events: StorageEvents
  readonly #stopCompacting: () => void
  #signingKey: Promise<string> | undefined
  #closed: Promise<void> | undefined

  constructor(url: string, events: StorageEvents, servingThreads: number) {
    this.#url = url
    this.threadReadsStart = { url, commits: new Int32Array(new SharedArrayBuffer(4)), connections: Connection.counter }
    this.#events = events
    this.#stopCompacting = compactCounts(
      (unit) => this.write(unit),
      (error) => events.onError?.('compacting the counts of records', error),
    )
    this.#reader = new Reader(url, this.threadReadsStart.commits, servingThreads === 1 ? 2 : 1)
    this.#shapes = new Shapes(this.#reader)
    this.published = createPublished(this.#reader)
    this.#writeQueue = new WriteQueue(url, (units, milliseconds) => {
      // Before the units are answered, so that a client's next read sees its own write.
      this.#reader.endSnapshots()
      events.onGroup?.(units, milliseconds)
    })
    this.#searches = new Searches(() => new PostgresSearcher(url), QUICK, SLOW)
    this.#rowStreams = new RowStreams((task) =>
      startThread(import.meta.resolve('./row-stream-thread.ts'), { url, ...task }),
    )
    this.#jobPool = new JobPool(() => startThread(import.meta.resolve('./job-thread.ts'), { url }))
    this.db = createKyselyDatabase(
      readOrWrite(
        (query) => this.#reader.all(query),
        (unit) => this.write(unit),
      ),
    )
  }

  begin(): Promise<void> {
    return this.#shapes.start((error) => this.#events.onError?.('reading the shapes of tables', error))
  }

  read(statement: Statement): Promise<Row[]> {
    return this.#reader.all(statement)
  }

  readOne(statement: Statement): Promise<Row | undefined> {
    return this.#reader.first(statement)
  }

  readUpTo(statement: Statement, bytes: number): Promise<SearchResult> {
    return this.#reader.upTo(statement, bytes)
  }

  shape(table: string): string | undefined {
    return this.#shapes.get(table)
  }

  refreshShapes(): Promise<void> {
    return this.#shapes.refresh()
  }

  snapshotId(): number {
    return this.#reader.snapshotId()
  }

  newSnapshotId(): number {
    return this.#reader.newSnapshotId()
  }

  async readSettled(): Promise<number> {
    const row = await this.#reader.first({ sql: 'SELECT dossier_settled() AS settled', parameters: [] })
    return row?.settled as number
  }

  async stats(): Promise<StorageStats> {
    const row = await this.#reader.first({ sql: SIZE, parameters: [] })
    const { retries } = this.#writeQueue
    return { database: row?.bytes as number, log: 0, connections: Atomics.load(Connection.counter, 0), retries }
  }

  signingKey(): Promise<string> {
    this.#signingKey ??= this.#makeSigningKey()
    return this.#signingKey
  }

  /** All nodes share one key: the first node that needs it creates it. */
  async #makeSigningKey(): Promise<string> {
    await this.setSigningKey(randomBytes(32).toString('base64url'))
    return readSigningKey(this.#reader)
  }

  async setSigningKey(key: string): Promise<void> {
    const keep = { sql: `INSERT INTO dossier_secret SELECT ? WHERE NOT EXISTS (${SIGNING_KEY})`, parameters: [key] }
    // The name that other versions use as well: nodes of two versions may start together.
    await this.write({ steps: [keep], mutex: 'secret' })
  }

  search(statement: Statement, options: SearchOptions): Promise<SearchResult> {
    return this.#searches.search(statement, options)
  }

  streamRows<Input>(
    statement: Statement,
    formatter: RowFormatter<Input>,
    input: Input,
    options: SearchOptions,
  ): AsyncGenerator<Chunk> {
    return this.#rowStreams.stream(statement, formatter, input, options)
  }

  needsScan(statement: Statement, table: string): Promise<boolean> {
    return needsScan(this.#url, statement, table)
  }

  write(unit: Unit): Promise<Row[][]> {
    return this.#writeQueue.write(unit)
  }

  async runWriteJob<Input, Result>(
    job: Job<Input, Result>,
    input: Input,
    options: WriteJobOptions = {},
  ): Promise<Result> {
    const result = await runWriteJob(this.#url, job, input, options)
    // Only jobs without a `mode` change the shapes of served tables.
    if (job.mode) return result
    await this.#shapes.refresh()
    this.#reader.endSnapshots()
    options.afterCommit?.()
    return result
  }

  runExclusively<Result>(work: () => Promise<Result>): Promise<Result> {
    return runExclusively(this.#url, work)
  }

  runReadJob<Input, Result>(
    job: Job<Input, Result>,
    input: Input,
    onProgress?: (progress: Progress) => void,
  ): Promise<Result> {
    return this.#jobPool.run(job, input, onProgress)
  }

  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    this.#stopCompacting()
    this.#shapes.close()
    await Promise.all([this.#searches.close(), this.#rowStreams.close(), this.#jobPool.close()])
    await this.#writeQueue.close()
    await this.#reader.close()
  }
}
