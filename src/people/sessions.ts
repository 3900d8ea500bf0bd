import { hash } from 'node:crypto'
import type { Config } from '../config.ts'
import { Failure } from '../errors.ts'
import { Memo } from '../lib/memo.ts'
import type { User } from '../model/access.ts'
import { type Database, type MaybePromise, type Step, type Storage, StorageFault } from '../storage/storage.ts'
import { writeOrExplain } from './write-or-explain.ts'

const SESSIONS = 'dossier_sessions'
/** A session's last use is written down at most this often, so that reading does not write. */
const TOUCH_MS = 60_000

/** What a person sees of a session of theirs. The id is not the cookie's value. */
export interface SessionView {
  id: string
  createdOn: string
  lastSeen: string
  address: string
  current: boolean
}

/** Moments in milliseconds. */
export interface SessionTimes {
  createdOn: number
  lastSeen: number
}

/** What @fastify/session keeps per session: who it is, and from where they logged in. */
export interface SessionData {
  user?: User
  address?: string
  /** the password's hash, by which the login was found right */
  proof?: string
  /** of one that was restored */
  times?: SessionTimes
  /** why it could not be looked up */
  fault?: StorageFault
}

interface SessionRow extends SessionTimes {
  username: string
  roles: string
}

/**
 * A login makes a new session, so one that was restored is never changed. @fastify/session would put all of it into a hash
 * at the start and the end of every request to find that out; it copies these from what it is handed, and so does not.
 */
const UNCHANGING = { isModified: () => false, toJSON: () => 0 }

type Done<Result = never> = (error: unknown, result?: Result) => void

const keys = new Memo<string>(10_000)

/** What the database knows a session by: who reads it there cannot use it. */
export const sessionKey = (sessionId: string) => keys.of(sessionId, (id) => hash('sha256', id))

const LOOK_UP = `
  SELECT u.username, u.roles, s."createdOn", s."lastSeen" FROM dossier_sessions s JOIN dossier_users u ON u.username = s.username
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

const userIn = ({ username, roles }: SessionRow): User => ({ username, roles: JSON.parse(roles) })

/** Whose session it is, by its key; undefined if it has ended. To look is no use of it. */
export async function findSessionUser(storage: Storage, config: Config, id: string): Promise<User | undefined> {
  const row = await lookUp(storage, sessionLimits(config), id, Date.now())
  return row && userIn(row)
}

type Limits = ReturnType<typeof sessionLimits>

/** Old sessions are swept away in portions: nobody who logs in waits for more. */
const SWEEP = 100

/** More sessions of one user end those that were not used for the longest time. */
export const MAX_SESSIONS = 1000
const TOO_MANY = `
  DELETE FROM dossier_sessions WHERE id IN (
    SELECT id FROM dossier_sessions WHERE username = ? ORDER BY "lastSeen" DESC LIMIT ${SWEEP} OFFSET ?)`

/** The store behind @fastify/session. Sessions live in the database, so that they survive a restart. */
export class SessionStore {
  readonly #storage: Storage
  readonly #db: Database
  readonly #limits: Limits
  #touchFailed = 0
  #seen = { moment: -1, sessions: new Map<string, Promise<SessionData | null>>() }
  readonly #onTouchFailed: (error: unknown) => void

  constructor(storage: Storage, config: Config, onTouchFailed: (error: unknown) => void) {
    this.#storage = storage
    this.#db = storage.db
    this.#onTouchFailed = onTouchFailed
    this.#limits = sessionLimits(config)
  }

  get(sessionId: string, done: Done<SessionData | null>): void {
    this.#atThisMoment(sessionKey(sessionId)).then(
      (session) => done(null, session),
      // Some routes are answered also where nobody can tell who asks.
      (fault) => (fault instanceof StorageFault ? done(null, { fault, ...UNCHANGING }) : done(fault)),
    )
  }

  /** A session is written once, at login; before that there is nothing worth keeping. */
  set(sessionId: string, { user, address, proof }: SessionData, done: Done): void {
    if (!user) done(null)
    else this.#insert(sessionKey(sessionId), user, address as string, proof as string).then(() => done(null), done)
  }

  destroy(sessionId: string, done: Done): void {
    const query = this.#db.deleteFrom(SESSIONS).where('id', '=', sessionKey(sessionId))
    query.execute().then(() => done(null), done)
  }

  /** Requests that come together, as a page sends them, share one look at their session. */
  #atThisMoment(id: string): Promise<SessionData | null> {
    const moment = this.#storage.snapshotId()
    if (this.#seen.moment !== moment) this.#seen = { moment, sessions: new Map() }
    const { sessions } = this.#seen
    const known = sessions.get(id)
    if (known !== undefined) return known
    const session = this.#find(id)
    sessions.set(id, session)
    return session
  }

  async #find(id: string): Promise<SessionData | null> {
    const now = Date.now()
    const { touchMs } = this.#limits
    const row = await lookUp(this.#storage, this.#limits, id, now)
    if (!row) return null
    if (row.lastSeen <= now - touchMs && this.#touchFailed <= now - TOUCH_MS) this.#touch(id, now)
    const { createdOn, lastSeen } = row
    return { user: userIn(row), times: { createdOn, lastSeen }, ...UNCHANGING }
  }

  /** Nobody waits for this. If it fails, it is tried again a minute later: the disk may be full. */
  #touch(id: string, now: number) {
    const query = this.#db.updateTable(SESSIONS).set({ lastSeen: now }).where('id', '=', id)
    query.execute().catch((error) => {
      this.#touchFailed = now
      this.#onTouchFailed(error)
    })
  }

  /** Checking a password takes time: whoever was disabled, or got another one meanwhile, has no session made. */
  async #insert(id: string, { username }: User, address: string, proof: string): Promise<void> {
    const now = Date.now()
    const { lifeMs, idleMs } = this.#limits
    const old = (column: string, ms: number) => ({
      sql: `DELETE FROM ${SESSIONS} WHERE id IN (SELECT id FROM ${SESSIONS} WHERE "${column}" <= ? ORDER BY "${column}" LIMIT ${SWEEP})`,
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
        { sql: TOO_MANY, parameters: [username, MAX_SESSIONS] },
        // Whoever logs in sweeps the floor: expired sessions are of no use to anybody.
        old('createdOn', lifeMs),
        old('lastSeen', idleMs),
      ],
    })
    if (made?.length === 0) throw new Failure('LOGIN_INCORRECT', 'The username or the password is not right any more.')
  }
}

export async function listSessions(db: Database, username: string, current: string): Promise<SessionView[]> {
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

/** When a session ends if it is not used again. */
export function sessionExpires(config: Config, { createdOn, lastSeen }: SessionTimes): string {
  const { idleMs, lifeMs } = sessionLimits(config)
  return new Date(Math.min(lastSeen + idleMs, createdOn + lifeMs)).toISOString()
}

/** Ends one session of a person. */
export async function endSession(storage: Pick<Storage, 'write'>, username: string, id: string): Promise<string> {
  const end = { sql: `DELETE FROM ${SESSIONS} WHERE username = ? AND id = ? RETURNING id`, parameters: [username, id] }
  await writeOrExplain(
    () => storage.write({ steps: [{ ...end, must: true }] }),
    () => new Failure('RECORD_NOT_FOUND', 'You have no such session.'),
  )
  return id
}

/** Ends all sessions of a person but the one that is kept: a step of whatever unit it follows from. */
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
    .select((is) => is.fn.countAll<number>().as('count'))
    .where('createdOn', '>', now - lifeMs)
    .where('lastSeen', '>', now - idleMs)
    .executeTakeFirstOrThrow()
  return count
}
