import { Failure } from '../errors.ts'
import type { PriorRowsRef, Row, Step, Storage, Unit } from '../storage/storage.ts'

/** How long a key is kept. */
export const KEY_LIFETIME_MS = 86_400_000

/** What was sent: the same key with another hash is another request. */
export interface KeyedRequest {
  username: string
  key: string
  hash: string
}

/** What the first request of a key came to: the rows of each step, of most records only the id and the version. */
export interface StoredResult {
  rows: Row[][]
  /** no table has been changed since: the rows are what they would be today */
  isCurrent: boolean
}

/** Characters up to which records are kept whole whose versions are not kept elsewhere. */
const MAX_WHOLE = 8192

/** Which change of the tables was the last. */
const TABLES = '(SELECT coalesce(max(id), 0) FROM dossier_migrations)'

/** Writes a key down. What is too old does not count, whether it has been swept away or not. */
export const STORE_KEY = `
  INSERT INTO dossier_keys (username, key, hash, at, tables, rows) VALUES (?, ?, ?, ?, ${TABLES}, ?)
  ON CONFLICT (username, key) DO UPDATE SET hash = excluded.hash, at = excluded.at, tables = excluded.tables, rows = excluded.rows
  WHERE dossier_keys.at <= ? RETURNING key`

const LOOK_UP = `
  SELECT hash, rows, tables = ${TABLES} AS "isCurrent" FROM dossier_keys WHERE username = ? AND key = ? AND at > ?`

/** Keys of requests that are running in this process. Between two processes the database decides which was first. */
export class KeysInUse {
  readonly #names = new Set<string>()

  /** Claims a key until the returned function is called; throws `KEY_IN_USE` if another request holds it. */
  claim({ username, key }: Pick<KeyedRequest, 'username' | 'key'>): () => void {
    const name = `${username.toLowerCase()} ${key}`
    if (this.#names.has(name)) throw keyInUse()
    this.#names.add(name)
    return () => this.#names.delete(name)
  }
}

export const keyInUse = () =>
  new Failure('KEY_IN_USE', 'A request with this Idempotency-Key is under way. Try again in a second.', {
    headers: { 'retry-after': '1' },
  })

export const keyReused = () =>
  new Failure('KEY_REUSED', 'This Idempotency-Key was sent with another request. Make up a new one for each.')

/** A request that is carried out once, however often it is sent. */
export class IdempotentRequest {
  readonly #storage: Storage
  readonly #sent: KeyedRequest
  readonly #onReplay: () => void
  /** set where this is not the first time */
  stored: StoredResult | undefined

  private constructor(storage: Storage, sent: KeyedRequest, onReplay: () => void) {
    this.#storage = storage
    this.#sent = sent
    this.#onReplay = onReplay
  }

  static async begin(storage: Storage, sent: KeyedRequest, onReplay: () => void): Promise<IdempotentRequest> {
    const request = new IdempotentRequest(storage, sent, onReplay)
    await request.#look()
    return request
  }

  /** Key and change are one unit: both are there, or neither. If it is done already, the rows are those of then. */
  async write(unit: Unit): Promise<Row[][]> {
    if (this.stored) return this.stored.rows
    try {
      // What finds nothing to change has not been done: then no key is kept either.
      const steps = unit.steps.with(-1, { ...(unit.steps.at(-1) as Step), must: true })
      const rows = await this.#storage.write({ ...unit, steps: [...steps, this.#keep(steps)] })
      return rows.slice(0, -1)
    } catch (error) {
      // What is in the way may be just what another process has done for the same request.
      await this.#look()
      if (!this.stored) throw error
      return (this.stored as StoredResult).rows
    }
  }

  #keep(steps: Step[]): Step {
    const { username, key, hash } = this.#sent
    const now = Date.now()
    const returning = (what: Step['returns']) => steps.flatMap(({ returns }, step) => (returns === what ? step : []))
    const [stubs, stubsIfLong] = [returning('journalled record'), returning('record')]
    const rows: PriorRowsRef = { all: true, stubs, stubsIfLong, longest: MAX_WHOLE }
    return { sql: STORE_KEY, parameters: [username, key, hash, now, rows, now - KEY_LIFETIME_MS], must: true }
  }

  async #look(): Promise<void> {
    const { username, key, hash } = this.#sent
    const row = await this.#storage.readOne({ sql: LOOK_UP, parameters: [username, key, Date.now() - KEY_LIFETIME_MS] })
    if (!row) return
    if (row.hash !== hash) throw keyReused()
    this.stored = { rows: JSON.parse(row.rows as string), isCurrent: row.isCurrent === 1 }
    this.#onReplay()
  }
}

/** Writes a unit; if the request has an `Idempotency-Key`, once however often it is sent. */
export const writeIdempotent = (
  storage: Storage,
  unit: Unit,
  request: IdempotentRequest | undefined,
): Promise<Row[][]> => (request ? request.write(unit) : storage.write(unit))

/** A storage whose `write` is idempotent, for functions that know nothing of idempotency keys. */
export const idempotentStorage = (
  storage: Storage,
  request: IdempotentRequest | undefined,
): Pick<Storage, 'db' | 'write'> => ({
  db: storage.db,
  write: (unit) => writeIdempotent(storage, unit, request),
})
