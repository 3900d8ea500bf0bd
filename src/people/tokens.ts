import { createHmac, hash, randomBytes } from 'node:crypto'
import { Failure } from '../errors.ts'
import { DAY_MS, toIso } from '../lib/dates.ts'
import type { User } from '../model/access.ts'
import type { Database, MaybePromise, Row, Step, Storage, WriteStorage } from '../storage/storage.ts'
import { writeOrExplain } from '../storage/write-or-explain.ts'
import { throwIfInvalid } from './throw-if-invalid.ts'
import { toUser, type UserRow } from './user-row.ts'
import { requireUser } from './users.ts'

const TOKENS = 'dossier_tokens'
/** Secret scanners recognise tokens by this prefix. */
const PREFIX = 'dos_'
const MAX_DAYS = 365
/** Nobody needs more, and each takes disk space. */
const MAX_TOKENS = 100
const MAX_NAME = 100
/** The last use is stored at most this often, so that a read does not cause a write. */
const TOUCH_MS = 60_000

/** A token as its user sees it. */
export interface TokenInfo {
  id: number
  name: string
  readOnly: boolean
  createdOn: string
  expires: string
  lastUsed: string | null
}

export interface NewToken {
  name: string
  days?: number
  readOnly?: boolean
}

/** A user who has presented a valid token. */
export interface Bearer {
  user: User
  hash: string
  readOnly: boolean
  expires: string
}

const COLUMNS = ['id', 'name', 'readOnly', 'createdOn', 'expires', 'lastUsed']
const VIEW = COLUMNS.map((name) => `"${name}"`).join(', ')
const hashToken = (token: string) => hash('sha256', token)

/**
 * Creates a token, which is shown only in this answer. It is derived from a random number and the signing key, so
 * a retry with the same idempotency key gets it again, although only its hash is stored.
 */
export async function createToken(
  storage: WriteStorage,
  signingKey: string,
  username: string,
  { name, days = MAX_DAYS, readOnly = false }: NewToken,
): Promise<TokenInfo & { token: string }> {
  validateToken({ name, days })
  const now = Date.now()
  const drawn = randomBytes(32).toString('base64url')
  const deriveToken = (number: string) =>
    PREFIX + createHmac('sha256', signingKey).update(`token ${number}`).digest('base64url')
  const deleteExpired: Step = {
    sql: `DELETE FROM ${TOKENS} WHERE username = ? AND expires <= ?`,
    parameters: [username, now],
  }
  const insert: Step = {
    sql: `INSERT INTO ${TOKENS} (hash, username, name, "readOnly", "createdOn", expires)
      SELECT ?, username, ?, ?, ?, ? FROM dossier_users
      WHERE username = ? AND (SELECT count(*) FROM ${TOKENS} AS other WHERE other.username = dossier_users.username) < ?
      RETURNING ${VIEW}, ? AS drawn`,
    parameters: [
      hashToken(deriveToken(drawn)),
      name,
      readOnly ? 1 : 0,
      now,
      now + days * DAY_MS,
      username,
      MAX_TOKENS,
      drawn,
    ],
    mustReturnRow: true,
  }
  const rows = await writeOrExplain(
    () => storage.write({ steps: [deleteExpired, insert] }),
    () => requireUser(storage.db, username).then(tooManyTokensFailure),
  )
  const made = rows[1]?.[0] as Row
  return { ...toInfo(made), token: deriveToken(made.drawn as string) }
}

const TOO_MANY = `is one too many: there are ${MAX_TOKENS} already. End some of them`
const tooManyTokensFailure = () => new Failure('VALIDATION_FAILED', `name ${TOO_MANY}.`, { errors: { name: TOO_MANY } })

export async function listTokens(db: Database, username: string): Promise<TokenInfo[]> {
  const rows = await db.selectFrom(TOKENS).select(COLUMNS).where('username', '=', username).orderBy('id').execute()
  return rows.map(toInfo)
}

export async function deleteToken(storage: Pick<Storage, 'write'>, username: string, id: number): Promise<number> {
  const end = { sql: `DELETE FROM ${TOKENS} WHERE username = ? AND id = ? RETURNING id`, parameters: [username, id] }
  await writeOrExplain(
    () => storage.write({ steps: [{ ...end, mustReturnRow: true }] }),
    () => new Failure('RECORD_NOT_FOUND', `${username} has no such token.`),
  )
  return id
}

const LOOK_UP = `
  SELECT ${TOKENS}.id, hash, "readOnly", expires, "lastUsed", dossier_users.username, roles, attributes, "rightsSince"
  FROM ${TOKENS} JOIN dossier_users ON dossier_users.username = ${TOKENS}.username
  WHERE hash = ? AND expires > ? AND enabled = 1`

/** Looks up users by their tokens. */
export class Tokens {
  readonly #storage: Storage
  readonly #onTouchFailed: (error: unknown) => void
  #touchFailed = Number.NEGATIVE_INFINITY

  constructor(storage: Storage, onTouchFailed: (error: unknown) => void) {
    this.#storage = storage
    this.#onTouchFailed = onTouchFailed
  }

  /** User of a token; undefined if the token is unknown or has expired. */
  async findBearer(token: string): Promise<Bearer | undefined> {
    const now = Date.now()
    const row = await this.#lookUp(hashToken(token), now)
    if (!row) return undefined
    if ((row.lastUsed ?? 0) <= now - TOUCH_MS && this.#touchFailed <= now - TOUCH_MS) this.#touch(row.id, now)
    const expires = new Date(row.expires).toISOString()
    return { user: toUser(row), hash: row.hash, readOnly: row.readOnly === 1, expires }
  }

  /** The user's current name and roles, for requests that run long; undefined if the token has ended meanwhile. */
  async currentUser({ hash: known }: Bearer): Promise<User | undefined> {
    const row = await this.#lookUp(known, Date.now())
    return row && toUser(row)
  }

  #lookUp(known: string, now: number): MaybePromise<TokenRow | undefined> {
    return this.#storage.readOne({ sql: LOOK_UP, parameters: [known, now] }) as MaybePromise<TokenRow | undefined>
  }

  /** Runs in the background. After a failure (a full disk, for example) it is retried a minute later. */
  #touch(id: number, now: number) {
    const step = { sql: `UPDATE ${TOKENS} SET "lastUsed" = ? WHERE id = ?`, parameters: [now, id] }
    this.#storage.write({ steps: [step] }).catch((error) => {
      this.#touchFailed = now
      this.#onTouchFailed(error)
    })
  }
}

interface TokenRow extends UserRow {
  id: number
  hash: string
  readOnly: number
  expires: number
  lastUsed: number | null
}

function toInfo({ id, name, readOnly, createdOn, expires, lastUsed }: Row): TokenInfo {
  return {
    id: id as number,
    name: name as string,
    readOnly: readOnly === 1,
    createdOn: toIso(createdOn as number),
    expires: toIso(expires as number),
    lastUsed: lastUsed === null ? null : toIso(lastUsed as number),
  }
}

function validateToken({ name, days }: { name: string; days: number }): void {
  const errors: Record<string, string> = {}
  if (name.length < 1 || name.length > MAX_NAME) errors.name = `must have 1 to ${MAX_NAME} characters`
  if (!Number.isInteger(days) || days < 1 || days > MAX_DAYS) errors.days = `must be 1 to ${MAX_DAYS}`
  throwIfInvalid(errors)
}
