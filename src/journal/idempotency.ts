import { Failure } from '../errors.ts'
import type { PriorRowsRef, Row, Step, Storage, Unit, WriteStorage } from '../storage/storage.ts'

/** How long a key is valid. */
export const KEY_LIFETIME_MS = 86_400_000

/** A request with an `Idempotency-Key`. If the hash differs, the key was reused for another request. */
export interface KeyedRequest {
  username: string
  key: string
  hash: string
}

/** The result of a key's first request: the rows of each step, for most records reduced to id and version. */
export interface StoredResult {
  rows: Row[][]
  /** whether no table has changed since, so that the rows still fit the tables */
  isCurrent: boolean
}

/** Records of models without history are stored whole up to so many characters, as no journal can rebuild them. */
const MAX_WHOLE = 8192

/** SQL for the number of the last schema change. */
const LAST_MIGRATION = '(SELECT coalesce(max(id), 0) FROM dossier_migrations)'

/** Stores a key. An expired key is overwritten, even if it has not been deleted yet. */
export const STORE_KEY = `
  INSERT INTO dossier_keys (username, key, hash, at, tables, rows) VALUES (?, ?, ?, ?, ${LAST_MIGRATION}, ?)
  ON CONFLICT (username, key) DO UPDATE SET hash = excluded.hash, at = excluded.at, tables = excluded.tables, rows = excluded.rows
  WHERE dossier_keys.at <= ? RETURNING key`

const LOOK_UP = `
  SELECT hash, rows, tables = ${LAST_MIGRATION} AS "isCurrent" FROM dossier_keys WHERE username = ? AND key = ? AND at > ?`

/** Keys of requests in progress in this process. Between processes, the unique key in the database decides. */
export class KeysInUse {
  readonly #names = new Set<string>()

  /** Claims a key; throws if a request with it is in progress. Returns a function that releases it. */
  claim({ username, key }: Pick<KeyedRequest, 'username' | 'key'>): () => void {
    const name = `${username.toLowerCase()} ${key}`
    if (this.#names.has(name)) throw keyInUseFailure()
    this.#names.add(name)
    return () => this.#names.delete(name)
  }
}

export const keyInUseFailure = () =>
  new Failure('KEY_IN_USE', 'A request with this Idempotency-Key is under way. Try again in a second.', {
    headers: { 'retry-after': '1' },
  })

export const keyReusedFailure = () =>
  new Failure('KEY_REUSED', 'This Idempotency-Key was sent with another request. Make up a new one for each.')

/** A request that is executed once, however often it is sent. */
export class IdempotentRequest {
  readonly #storage: Storage
  readonly #sent: KeyedRequest
  readonly #onReplay: () => void
  /** set if the request was executed before */
  stored: StoredResult | undefined

  private constructor(storage: Storage, sent: KeyedRequest, onReplay: () => void) {
    this.#storage = storage
    this.#sent = sent
    this.#onReplay = onReplay
  }

  static async begin(storage: Storage, sent: KeyedRequest, onReplay: () => void): Promise<IdempotentRequest> {
    const request = new IdempotentRequest(storage, sent, onReplay)
    await request.#loadStored()
    return request
  }

  /** Writes the unit and the key in one transaction. If the request was executed before, returns its stored rows. */
  async write(unit: Unit): Promise<Row[][]> {
    if (this.stored) return this.stored.rows
    try {
      // The last step must return a row: a request that changed nothing stores no key.
      const steps = unit.steps.with(-1, { ...(unit.steps.at(-1) as Step), mustReturnRow: true })
      const rows = await this.#storage.write({ ...unit, steps: [...steps, this.#storeKeyStep(steps)] })
      return rows.slice(0, -1)
    } catch (error) {
      // The cause may be that another process has executed the same request; then its result counts.
      await this.#loadStored()
      if (!this.stored) throw error
      return (this.stored as StoredResult).rows
    }
  }

  /**
   * Runs the work that comes before the write, such as reading the record. If it fails because another process has
   * executed the request, runs it again: now it sees the stored result.
   */
  async beforeWrite<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work()
    } catch (error) {
      if (!this.stored) await this.#loadStored()
      if (!this.stored) throw error
      return work()
    }
  }

  #storeKeyStep(steps: Step[]): Step {
    const { username, key, hash } = this.#sent
    const now = Date.now()
    const returning = (what: Step['returns']) => steps.flatMap(({ returns }, step) => (returns === what ? step : []))
    const [stubs, stubsIfLong] = [returning('journalled record'), returning('record')]
    const rows: PriorRowsRef = { all: true, stubs, stubsIfLong, longest: MAX_WHOLE }
    return { sql: STORE_KEY, parameters: [username, key, hash, now, rows, now - KEY_LIFETIME_MS], mustReturnRow: true }
  }

  async #loadStored(): Promise<void> {
    const { username, key, hash } = this.#sent
    const row = await this.#storage.readOne({ sql: LOOK_UP, parameters: [username, key, Date.now() - KEY_LIFETIME_MS] })
    if (!row) return
    if (row.hash !== hash) throw keyReusedFailure()
    this.stored = { rows: JSON.parse(row.rows as string), isCurrent: row.isCurrent === 1 }
    this.#onReplay()
  }
}

/** Runs the work that comes before the write of a request: see `IdempotentRequest.beforeWrite`. */
export const runBeforeWrite = <Result>(
  request: IdempotentRequest | undefined,
  work: () => Promise<Result>,
): Promise<Result> => (request ? request.beforeWrite(work) : work())

/** Writes a unit, idempotently if the request has a key. */
export const writeIdempotent = (
  storage: Storage,
  unit: Unit,
  request: IdempotentRequest | undefined,
): Promise<Row[][]> => (request ? request.write(unit) : storage.write(unit))

/** Wraps `writeIdempotent` as a storage, for callers that know nothing of keys. */
export const idempotentStorage = (storage: Storage, request: IdempotentRequest | undefined): WriteStorage => ({
  db: storage.db,
  write: (unit) => writeIdempotent(storage, unit, request),
})
