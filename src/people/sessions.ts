import { hash } from 'node:crypto'
import type { Config } from '../config.ts'
import { Failure } from '../errors.ts'
import { Memo } from '../lib/memo.ts'
import type { User } from '../model/access.ts'
import { type Database, type MaybePromise, type Step, type Storage, StorageFault } from '../storage/storage.ts'
import { writeOrExplain } from '../storage/write-or-explain.ts'
import { toUser, type UserRow } from './user-row.ts'

export const SESSION_COOKIE = 'sid'
const SESSIONS = 'dossier_sessions'
/** A session's last use is stored at most this often, so that a read does not cause a write. */
const TOUCH_MS = 60_000

/** A session as its user sees it. The id is not the value of the cookie. */
export interface SessionInfo {
  id: string
  createdOn: string
  lastSeen: string
  address: string
  current: boolean
}

/** Timestamps in milliseconds. */
export interface SessionTimes {
  createdOn: number
  lastSeen: number
}

/** What a login stores of a session. */
export interface NewSession {
  user?: User
  address?: string
  /** hash of the password that the login was checked against */
  proof?: string
}

/** A session that a request has named. */
export interface RestoredSession {
  /** id in the database */
  key: string
  user?: User
  times?: SessionTimes
  /** why the session could not be looked up; it has no user then */
  fault?: StorageFault
}

type SessionRow = SessionTimes & UserRow

type Done<Result = never> = (error: unknown, result?: Result) => void

const keys = new Memo<string>(10_000)

/** Key of a session in the database, a hash: a reader of the database cannot use it as a cookie. */
const sessionKey = (sessionId: string) => keys.getOrCompute(sessionId, (id) => hash('sha256', id))

const LOOK_UP = `
  SELECT u.username, u.roles, u.attributes, u."rightsSince", s."createdOn", s."lastSeen"
  FROM dossier_sessions s JOIN dossier_users u ON u.username = s.username
  WHERE s.id = ? AND s."createdOn" > ? AND s."createdOn" < ? AND s."lastSeen" > ? AND u.enabled = 1`

function lookUp(
  storage: Storage,
  { idleMs, lifeMs }: Limits,
  id: string,
  now: number,
): MaybePromise<SessionRow | undefined> {
  return storage.readOne({ sql: LOOK_UP, parameters: [id, now - lifeMs, now + lifeMs, now - idleMs] }) as MaybePromise<
    SessionRow | undefined
  >
}

/** The user of a session, by its key; undefined if it has ended. Does not count as a use of the session. */
export async function findSessionUser(storage: Storage, config: Config, id: string): Promise<User | undefined> {
  const row = await lookUp(storage, sessionLimits(config), id, Date.now())
  return row && toUser(row)
}

type Limits = ReturnType<typeof sessionLimits>

/** Expired sessions are deleted in portions of this size, so no login waits long for the cleanup. */
const EXPIRED_PER_LOGIN = 100

/** Above this many sessions of one user, the least recently used ones are deleted. */
export const MAX_SESSIONS = 1000
const DELETE_LEAST_RECENT = `
  DELETE FROM dossier_sessions WHERE id IN (
    SELECT id FROM dossier_sessions WHERE username = ? ORDER BY "lastSeen" DESC LIMIT ${EXPIRED_PER_LOGIN} OFFSET ?)`

/** Store for @fastify/session. Sessions live in the database, so they survive a restart. */
export class SessionStore {
  readonly #storage: Storage
  readonly #db: Database
  readonly #limits: Limits
  #touchFailed = 0
  #sessionsOfSnapshot = { snapshot: -1, sessions: new Map<string, Promise<RestoredSession | undefined>>() }
  readonly #onTouchFailed: (error: unknown) => void

  constructor(storage: Storage, config: Config, onTouchFailed: (error: unknown) => void) {
    this.#storage = storage
    this.#db = storage.db
    this.#onTouchFailed = onTouchFailed
    this.#limits = sessionLimits(config)
  }

  get(sessionId: string, done: Done<RestoredSession | null>): void {
    this.find(sessionId).then((session) => done(null, session ?? null), done)
  }

  /**
   * The session of a cookie; undefined if it has ended. Requests that arrive together, as from a web page, share one
   * lookup of their session.
   */
  find(sessionId: string): Promise<RestoredSession | undefined> {
    const key = sessionKey(sessionId)
    const snapshot = this.#storage.snapshotId()
    if (this.#sessionsOfSnapshot.snapshot !== snapshot) this.#sessionsOfSnapshot = { snapshot, sessions: new Map() }
    const { sessions } = this.#sessionsOfSnapshot
    const cached = sessions.get(key)
    if (cached !== undefined) return cached
    const session = this.#lookUp(key)
    sessions.set(key, session)
    return session
  }

  /** A session is written once, at login; before that it has nothing worth storing. */
  set(sessionId: string, { user, address, proof }: NewSession, done: Done): void {
    if (!user) done(null)
    else this.#insert(sessionKey(sessionId), user, address as string, proof as string).then(() => done(null), done)
  }

  destroy(sessionId: string, done: Done): void {
    const query = this.#db.deleteFrom(SESSIONS).where('id', '=', sessionKey(sessionId))
    query.execute().then(() => done(null), done)
  }

  async #lookUp(key: string): Promise<RestoredSession | undefined> {
    const now = Date.now()
    const { touchMs } = this.#limits
    try {
      const row = await lookUp(this.#storage, this.#limits, key, now)
      if (!row) return undefined
      if (row.lastSeen <= now - touchMs && this.#touchFailed <= now - TOUCH_MS) this.#touch(key, now)
      const { createdOn, lastSeen } = row
      return { key, user: toUser(row), times: { createdOn, lastSeen } }
    } catch (fault) {
      // Some routes are answered even if the session cannot be looked up.
      if (fault instanceof StorageFault) return { key, fault }
      throw fault
    }
  }

  /** Runs in the background. After a failure (a full disk, for example) it is retried a minute later. */
  #touch(id: string, now: number) {
    const query = this.#db.updateTable(SESSIONS).set({ lastSeen: now }).where('id', '=', id)
    query.execute().catch((error) => {
      this.#touchFailed = now
      this.#onTouchFailed(error)
    })
  }

  /** The INSERT checks the user again: since the password was verified, the user may have been changed or disabled. */
  async #insert(id: string, { username }: User, address: string, proof: string): Promise<void> {
    const now = Date.now()
    const { lifeMs, idleMs } = this.#limits
    const deleteExpired = (column: string, ms: number) => ({
      sql: `DELETE FROM ${SESSIONS} WHERE id IN (SELECT id FROM ${SESSIONS} WHERE "${column}" <= ? ORDER BY "${column}" LIMIT ${EXPIRED_PER_LOGIN})`,
      parameters: [now - ms],
    })
    const [made] = await this.#storage.write({
      steps: [
        {
          sql: `INSERT INTO ${SESSIONS} (id, username, "createdOn", "lastSeen", address)
            SELECT ?, username, ?, ?, ? FROM dossier_users WHERE username = ? AND enabled = 1 AND password = ? RETURNING id`,
          parameters: [id, now, now, address, username, proof],
        },
        {
          sql: 'UPDATE dossier_users SET "lastLogin" = ?, "lastAddress" = ? WHERE username = ?',
          parameters: [now, address, username],
        },
        { sql: DELETE_LEAST_RECENT, parameters: [username, MAX_SESSIONS] },
        // Each login also deletes some expired sessions.
        deleteExpired('createdOn', lifeMs),
        deleteExpired('lastSeen', idleMs),
      ],
    })
    if (made?.length === 0) throw new Failure('LOGIN_INCORRECT', 'The username or the password is not right any more.')
  }
}

export async function listSessions(db: Database, username: string, current?: string): Promise<SessionInfo[]> {
  const rows = await db
    .selectFrom(SESSIONS)
    .select(['id', 'createdOn', 'lastSeen', 'address'])
    .where('username', '=', username)
    .orderBy('createdOn')
    .execute()
  return rows.map((row) => ({
    id: row.id as string,
    createdOn: new Date(row.createdOn as number).toISOString(),
    lastSeen: new Date(row.lastSeen as number).toISOString(),
    address: row.address as string,
    current: row.id === current,
  }))
}

/** When a session ends, if it is not used again. */
export function sessionExpires(config: Config, { createdOn, lastSeen }: SessionTimes): string {
  const { idleMs, lifeMs } = sessionLimits(config)
  return new Date(Math.min(lastSeen + idleMs, createdOn + lifeMs)).toISOString()
}

export async function endSession(storage: Pick<Storage, 'write'>, username: string, id: string): Promise<string> {
  const end = { sql: `DELETE FROM ${SESSIONS} WHERE username = ? AND id = ? RETURNING id`, parameters: [username, id] }
  await writeOrExplain(
    () => storage.write({ steps: [{ ...end, mustReturnRow: true }] }),
    () => new Failure('RECORD_NOT_FOUND', 'There is no such session.'),
  )
  return id
}

/** Step that ends all sessions of a user except `kept`; part of a larger unit. */
export function endSessions(db: Database, username: string, kept: string): Step {
  return db.deleteFrom(SESSIONS).where('username', '=', username).where('id', '!=', kept).compile()
}

function sessionLimits(config: Config) {
  const idleMs = config.SESSION_IDLE_MINUTES * 60_000
  return { idleMs, lifeMs: config.SESSION_MAX_HOURS * 3_600_000, touchMs: Math.min(TOUCH_MS, idleMs / 10) }
}

export async function countSessions(db: Database, config: Config): Promise<number> {
  const { idleMs, lifeMs } = sessionLimits(config)
  const now = Date.now()
  const { count } = await db
    .selectFrom(SESSIONS)
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('createdOn', '>', now - lifeMs)
    .where('lastSeen', '>', now - idleMs)
    .executeTakeFirstOrThrow()
  return count
}
