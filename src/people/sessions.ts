import { hash } from 'node:crypto'
import type { Config } from '../config.ts'
import type { Database } from '../database/database.ts'
import type { User } from './users.ts'

const SESSIONS = 'dossier_sessions'
/** A session's last use is written down at most this often, so that reading does not write. */
const TOUCH_MS = 60_000

/** What @fastify/session keeps per session: who it is, and from where they logged in. */
export interface SessionData {
  user?: User
  address?: string
}

type Done<Result = never> = (error: unknown, result?: Result) => void

export const sessionKey = (sessionId: string) => hash('sha256', sessionId)

/** The store behind @fastify/session. Sessions live in the database, so that they survive a restart. */
export class SessionStore {
  readonly #db: Database
  readonly #idleMs: number
  readonly #lifeMs: number

  constructor(db: Database, config: Config) {
    this.#db = db
    this.#idleMs = config.SESSION_IDLE_MINUTES * 60_000
    this.#lifeMs = config.SESSION_MAX_HOURS * 3_600_000
  }

  get(sessionId: string, done: Done<SessionData | null>): void {
    this.#find(sessionKey(sessionId)).then((session) => done(null, session), done)
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

  async #find(id: string): Promise<SessionData | null> {
    const now = Date.now()
    const row = await this.#db
      .selectFrom(SESSIONS)
      .innerJoin('dossier_users', 'dossier_users.username', 'dossier_sessions.username')
      .select(['dossier_users.username', 'dossier_users.roles', 'dossier_sessions.lastSeen'])
      .where('dossier_sessions.id', '=', id)
      .where('dossier_users.enabled', '=', 1)
      .where('dossier_sessions.createdOn', '>', now - this.#lifeMs)
      .where('dossier_sessions.lastSeen', '>', now - this.#idleMs)
      .executeTakeFirst()
    if (!row) return null
    if ((row.lastSeen as number) <= now - TOUCH_MS)
      await this.#db.updateTable(SESSIONS).set({ lastSeen: now }).where('id', '=', id).execute()
    return { user: { username: row.username as string, roles: JSON.parse(row.roles as string) } }
  }

  async #insert(id: string, username: string, address: string): Promise<void> {
    const now = Date.now()
    await this.#db.insertInto(SESSIONS).values({ id, username, createdOn: now, lastSeen: now, address }).execute()
    // Whoever logs in sweeps the floor: expired sessions are of no use to anybody.
    await this.#db
      .deleteFrom(SESSIONS)
      .where((is) => is.or([is('createdOn', '<=', now - this.#lifeMs), is('lastSeen', '<=', now - this.#idleMs)]))
      .execute()
  }
}
