import { once } from 'node:events'
import { statSync } from 'node:fs'
import { dirname } from 'node:path'
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
import { DatabaseError, defineJob } from '../storage.ts'
import { deserializeError } from '../thread-errors.ts'
import { Checkpointer } from './checkpointer.ts'
import { databaseFile, openReader, requireDatabase } from './connections.ts'
import { DIALECT } from './dialect.ts'
import { explainOpening } from './faults.ts'
import { createKyselyDatabase } from './kysely.ts'
import { Reader } from './reader.ts'
import { requireExclusiveAccess } from './restore.ts'
import { SearchThreadHandle } from './search-thread-handle.ts'
import { readSigningKey, storeSigningKey } from './signing-key.ts'
import { Statements } from './statements.ts'
import type { ThreadReadsStart } from './thread-reads.ts'
import { WriteQueue } from './write-queue.ts'
import type { WriterAnswer } from './writer-thread.ts'

const BACKUP = defineJob(import.meta.resolve('./backup.ts'), 'runBackup')
const CHECKPOINT = defineJob<{ file: string }, void>(import.meta.resolve('./checkpoint.ts'), 'runCheckpoint')

/** Opens the database file of a data folder, or creates it. */
export async function openStorage(dataDir: string, events: StorageEvents = {}, maxLogBytes?: number): Promise<Storage> {
  const file = databaseFile(dataDir)
  const commits = new Int32Array(new SharedArrayBuffer(4))
  const writer = startThread(import.meta.resolve('./writer-thread.ts'), { file, commits })
  const [text] = await once(writer, 'message')
  const answer: WriterAnswer = JSON.parse(text)
  if ('error' in answer) throw deserializeError(answer.error)
  const reader = new Reader(openReader(file), commits)
  const searches = new Searches((onDeath) => new SearchThreadHandle(file, onDeath))
  const rowStreams = new RowStreams((task) =>
    startThread(import.meta.resolve('./row-stream-thread.ts'), { file, ...task }),
  )
  const jobPool = new JobPool(() => startThread(import.meta.resolve('./job-thread.ts'), { file }))
  const writeQueue = new WriteQueue(writer, (units, milliseconds, logBytes = 0) => {
    // Before the units are answered, so that a client's next read sees its own write.
    reader.endSnapshot()
    events.onGroup?.(units, milliseconds)
    checkpointer.checkLogSize(logBytes)
  })
  const copyLog = () => jobPool.run(CHECKPOINT, { file })
  const truncateLog = () => writeQueue.truncateLog()
  const onError = (error: unknown) => events.onError?.('emptying the write-ahead log', error)
  const checkpointer = new Checkpointer({ searches, rowStreams, copyLog, truncateLog, onError }, maxLogBytes)
  return new SqliteStorage({ file, commits, reader, writeQueue, searches, rowStreams, jobPool, checkpointer })
}

/** Throws if another process uses the database. */
export async function requireStopped(dataDir: string): Promise<void> {
  try {
    requireExclusiveAccess(requireDatabase(dataDir))
  } catch (error) {
    // Other errors come again when the database is opened, and are explained there. Where it may only be read, a copy
    // is complete without the lock.
    if (error instanceof DatabaseError) throw error
  }
}

/** Opens an existing database read-only for `look`, and closes it again. */
export async function inspectDatabase<Result>(
  dataDir: string,
  look: (db: Database) => Promise<Result>,
): Promise<Result> {
  const file = requireDatabase(dataDir)
  try {
    const sqlite = openReader(file)
    const statements = new Statements(sqlite)
    try {
      return await look(createKyselyDatabase((query) => statements.run(query)))
    } finally {
      sqlite.close()
    }
  } catch (error) {
    throw explainOpening(file, error)
  }
}

interface Dependencies {
  file: string
  commits: Int32Array
  reader: Reader
  writeQueue: WriteQueue
  searches: Searches
  rowStreams: RowStreams
  jobPool: JobPool
  checkpointer: Checkpointer
}

/**
 * SQLite behind the storage interface. The serving thread has a connection for bounded reads. A writer thread owns the
 * connection that writes, with its fsyncs and lock waits. Searches, row streams, read jobs and backups have threads of
 * their own.
 */
class SqliteStorage implements Storage {
  readonly db: Database
  readonly dialect = DIALECT
  readonly threadReadsStart: ThreadReadsStart
  readonly #file: string
  readonly #reader: Reader
  readonly #writeQueue: WriteQueue
  readonly #searches: Searches
  readonly #rowStreams: RowStreams
  readonly #jobPool: JobPool
  readonly #checkpointer: Checkpointer
  #closed: Promise<void> | undefined

  constructor({ file, commits, reader, writeQueue, searches, rowStreams, jobPool, checkpointer }: Dependencies) {
    this.#file = file
    this.threadReadsStart = { file, commits }
    this.#reader = reader
    this.#writeQueue = writeQueue
    this.#searches = searches
    this.#rowStreams = rowStreams
    this.#jobPool = jobPool
    this.#checkpointer = checkpointer
    this.db = createKyselyDatabase(
      readOrWrite(
        (query) => reader.all(query),
        (unit) => this.write(unit),
      ),
    )
  }

  read(statement: Statement): Row[] {
    return this.#reader.all(statement)
  }

  readOne(statement: Statement): Row | undefined {
    return this.#reader.first(statement)
  }

  readUpTo(statement: Statement, bytes: number): SearchResult {
    return this.#reader.upTo(statement, bytes)
  }

  shape(table: string): string | undefined {
    return this.#reader.shape(table)
  }

  /** Nothing to do: `shape` itself notices changes, at most 2 ms late. */
  async refreshShapes(): Promise<void> {}

  snapshotId(): number {
    return this.#reader.snapshotId()
  }

  newSnapshotId(): number {
    return this.#reader.snapshotId()
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

  needsScan(statement: Statement, table: string): boolean {
    return this.#reader.needsScan(statement, table)
  }

  async write(unit: Unit): Promise<Row[][]> {
    return this.#writeQueue.write(unit)
  }

  async runWriteJob<Input, Result>(
    job: Job<Input, Result>,
    input: Input,
    { beforeCommit, afterCommit }: WriteJobOptions = {},
  ): Promise<Result> {
    try {
      const result = await this.#writeQueue.runWriteJob(job, input, async () => {
        this.#reader.keepSnapshot()
        await beforeCommit?.()
      })
      afterCommit?.()
      return result
    } finally {
      this.#reader.releaseSnapshot()
    }
  }

  runReadJob<Input, Result>(
    job: Job<Input, Result>,
    input: Input,
    onProgress?: (progress: Progress) => void,
  ): Promise<Result> {
    return this.#jobPool.run(job, input, onProgress)
  }

  /** All visible changes are settled: transactions run one after the other, in the order of their change numbers. */
  readSettled(): number {
    return Number.MAX_SAFE_INTEGER
  }

  signingKey(): string {
    return readSigningKey(dirname(this.#file))
  }

  setSigningKey(key: string): void {
    storeSigningKey(dirname(this.#file), key)
  }

  stats(): StorageStats {
    const bytes = (file: string) => statSync(file, { throwIfNoEntry: false })?.size ?? 0
    return { database: bytes(this.#file), log: bytes(`${this.#file}-wal`), connections: 0, retries: 0 }
  }

  backup(target: string, onProgress?: (progress: Progress) => void): Promise<void> {
    return this.#jobPool.run(BACKUP, { file: this.#file, target }, onProgress)
  }

  /** The writer closes its connection last: SQLite then copies the whole write-ahead log into the file. */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    this.#checkpointer.close()
    await Promise.all([this.#searches.close(), this.#rowStreams.close(), this.#jobPool.close()])
    await this.#writeQueue.waitUntilDrained()
    this.#reader.close()
    await this.#writeQueue.close()
  }
}
