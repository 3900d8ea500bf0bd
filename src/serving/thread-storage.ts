import type {
  Database,
  Dialect,
  Row,
  SearchOptions,
  SearchResult,
  Statement,
  Storage,
  Unit,
} from '../storage/storage.ts'
import type { ThreadReads } from '../storage/thread-reads.ts'
import type { StorageRequest } from './messages.ts'
import type { RemoteCalls } from './remote-calls.ts'

/**
 * The storage of a serving thread. It reads on a connection of its own. Units of work and searches go to the main
 * thread: units of all threads share commits, and users take turns across all threads.
 */
export class ThreadStorage implements Storage {
  readonly db: Database
  readonly dialect: Dialect
  readonly #reads: ThreadReads
  readonly #main: RemoteCalls<StorageRequest>
  readonly #cancel: (search: number) => void

  constructor(reads: ThreadReads, main: RemoteCalls<StorageRequest>, cancel: (search: number) => void) {
    this.#reads = reads
    this.#main = main
    this.#cancel = cancel
    this.dialect = reads.dialect
    this.db = reads.createKyselyDatabase((unit) => this.write(unit))
  }

  read = (statement: Statement) => this.#reads.read(statement)
  readOne = (statement: Statement) => this.#reads.readOne(statement)
  readUpTo = (statement: Statement, bytes: number) => this.#reads.readUpTo(statement, bytes)
  shape = (table: string) => this.#reads.shape(table)
  refreshShapes = () => this.#reads.refreshShapes()
  snapshotId = () => this.#reads.snapshotId()
  newSnapshotId = () => this.#reads.newSnapshotId()
  needsScan = (statement: Statement, table: string) => this.#reads.needsScan(statement, table)
  signingKey = () => this.#reads.signingKey()

  write(unit: Unit): Promise<Row[][]> {
    return this.#main.call({ do: 'write', unit })
  }

  async search(statement: Statement, { signal, ...options }: SearchOptions): Promise<SearchResult> {
    let search = 0
    const cancel = () => this.#cancel(search)
    const found = this.#main.call<SearchResult>({ do: 'search', statement, options }, (id) => {
      search = id
      // A signal that is already aborted fires no event.
      if (signal?.aborted) cancel()
      else signal?.addEventListener('abort', cancel)
    })
    return found.finally(() => signal?.removeEventListener('abort', cancel))
  }

  async close(): Promise<void> {
    await this.#reads.close()
  }

  // Requests that need these are forwarded to the main thread: see `isServedHere`.
  readonly streamRows: Storage['streamRows'] = onlyInMain
  readonly runWriteJob: Storage['runWriteJob'] = onlyInMain
  readonly runReadJob: Storage['runReadJob'] = onlyInMain
  readonly readSettled: Storage['readSettled'] = onlyInMain
  readonly setSigningKey: Storage['setSigningKey'] = onlyInMain
  readonly stats: Storage['stats'] = onlyInMain
}

function onlyInMain(): never {
  throw new Error('Only the main thread can do this.')
}
