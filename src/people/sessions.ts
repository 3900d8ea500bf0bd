import { hash } from 'node:crypto'
import { type CompiledQuery, sql } from 'kysely'
import type { Config } from '../config.ts'
import { type Database, selectOne } from '../database/database.ts'
import { Memo } from '../memo.ts'
import type { User } from './users.ts'

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

/** What @fastify/session keeps per session: who it is, and from where they logged in. */
export interface SessionData {
  user?: User
  address?: string
}

interface SessionRow {
  username: string
  roles: string
  lastSeen: number
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

/** The store behind @fastify/session. Sessions live in the database, so that they survive a restart. */
export class SessionStore {
  readonly #db: Database
  readonly #limits: ReturnType<typeof limitsOf>
  readonly #lookUp: CompiledQuery
  #touchFailed = 0
  readonly #onTouchFailed: (error: unknown) => void

  constructor(db: Database, config: Config, onTouchFailed: (error: unknown) => void) {
    this.#db = db
    this.#onTouchFailed = onTouchFailed
    this.#limits = limitsOf(config)
    this.#lookUp = sql`
      SELECT u.username, u.roles, s.lastSeen FROM dossier_sessions s JOIN dossier_users u ON u.username = s.username
      WHERE s.id = ${''} AND s.createdOn > ${0} AND s.lastSeen > ${0} AND u.enabled = 1`.compile(db)
  }

  get(sessionId: string, done: Done<SessionData | null>): void {
    try {
      done(null, this.#find(sessionKey(sessionId)))
    } catch (error) {
      done(error)
    }
  }

  /** A session is written once, at login; before that there is nothing worth keeping. */
  set(sessionId: string, { user, address }: SessionData, done: Done): void {
    if (!user) done(null)
    else this.#insert(sessionKey(sessionId), user.username, address as string).then(() => done(null), done)
  }

  destroy(sessionId: string, done: Done): void {
    const query = this.#db.deleteFrom(SESSIONS).where('id', '=', sessionKey(sessionId))
    query.execute().then(() => done(null), done)
  }

  #find(id: string): SessionData | null {
    const now = Date.now()
    const { idleMs, lifeMs, touchMs } = this.#limits
    const row = selectOne<SessionRow>(this.#db, this.#lookUp, [id, now - lifeMs, now - idleMs])
    if (!row) return null
    if (row.lastSeen <= now - touchMs && this.#touchFailed <= now - TOUCH_MS) this.#touch(id, now)
    return { user: { username: row.username, roles: JSON.parse(row.roles) }, ...UNCHANGING }
  }

  /** Nobody waits for this. If it fails, it is tried again a minute later: the disk may be full. */
  #touch(id: string, now: number) {
    const query = this.#db.updateTable(SESSIONS).set({ lastSeen: now }).where('id', '=', id)
    query.execute().catch((error) => {
      this.#touchFailed = now
      this.#onTouchFailed(error)
    })
  }

  async #insert(id: string, username: string, address: string): Promise<void> {
    const now = Date.now()
    await this.#db.insertInto(SESSIONS).values({ id, username, createdOn: now, lastSeen: now, address }).execute()
    // Whoever logs in sweeps the floor: expired sessions are of no use to anybody.
    await this.#db
      .deleteFrom(SESSIONS)
      .where((is) =>
        is.or([is('createdOn', '<=', now - this.#limits.lifeMs), is('lastSeen', '<=', now - this.#limits.idleMs)]),
      )
      .execute()
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
export function sessionExpires(config: Config, { createdOn, lastSeen }: SessionView): string {
  const { idleMs, lifeMs } = limitsOf(config)
  return new Date(Math.min(Date.parse(lastSeen) + idleMs, Date.parse(createdOn) + lifeMs)).toISOString()
}

/** Ends one session of a person; false if they have no such session. */
export async function endSession(db: Database, username: string, id: string): Promise<boolean> {
  const query = db.deleteFrom(SESSIONS).where('username', '=', username).where('id', '=', id)
  return (await query.returning('id').executeTakeFirst()) !== undefined
}

/** Ends all sessions of a person but the one that is kept. */
export async function endSessions(db: Database, username: string, kept = ''): Promise<void> {
  await db.deleteFrom(SESSIONS).where('username', '=', username).where('id', '!=', kept).execute()
}

function limitsOf(config: Config) {
  const idleMs = config.SESSION_IDLE_MINUTES * 60_000
  return { idleMs, lifeMs: config.SESSION_MAX_HOURS * 3_600_000, touchMs: Math.min(TOUCH_MS, idleMs / 10) }
}

export async function countSessions(db: Database, config: Config): Promise<number> {
  const { idleMs, lifeMs } = limitsOf(config)
  const now = Date.now()
  const { count } = await db
    .selectFrom(SESSIONS)
    .select((is) => is.fn.countAll<number>().as('count'))
    .where('createdOn', '>', now - lifeMs)
    .where('lastSeen', '>', now - idleMs)
    .executeTakeFirstOrThrow()
  return count
}
