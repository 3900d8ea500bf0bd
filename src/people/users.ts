import { sql } from 'kysely'
import { Failure } from '../errors.ts'
import { type Database, type Step, type Storage, StorageFault } from '../storage/storage.ts'
import { forgive } from './attempts.ts'
import { checkPassword, hashPassword } from './password.ts'
import { endSessions } from './sessions.ts'

/** Who makes a request. */
export interface User {
  username: string
  roles: string[]
}

/** What an admin sees of a user: never the hash. */
export interface Account extends User {
  enabled: boolean
  createdOn: string
  lastLogin: string | null
}

export interface UserChange {
  roles?: string[]
  enabled?: boolean
  password?: string
}

const USERS = 'dossier_users'
const ACCOUNT = ['username', 'roles', 'enabled', 'createdOn', 'lastLogin']
const USERNAME = '^[A-Za-z0-9._@-]{1,64}$'
const ROLE = '^[A-Za-z0-9._-]{1,64}$'
const MIN_PASSWORD = 10
/** Hashing takes time by length; nobody types more. */
const MAX_PASSWORD = 1024

/** Somebody who has shown a password that was right a moment ago: `proof` is its hash. */
export interface Proven {
  user: User
  proof: string
}

/** The user, if the password is theirs and they are enabled. It takes as long if they are unknown. */
export async function authenticate(db: Database, username: string, password: string): Promise<Proven | undefined> {
  const row = await db
    .selectFrom(USERS)
    .select(['username', 'password', 'roles'])
    .where('username', '=', username)
    .where('enabled', '=', 1)
    .executeTakeFirst()
  const matches = await checkPassword(password, row?.password as string | undefined)
  if (!row || !matches) return undefined
  const user = { username: row.username as string, roles: JSON.parse(row.roles as string) }
  return { user, proof: row.password as string }
}

export async function listUsers(db: Database): Promise<Account[]> {
  const rows = await db.selectFrom(USERS).select(ACCOUNT).orderBy('username').execute()
  return rows.map(toAccount)
}

export interface NewUser {
  username: string
  password: string
  roles: string[]
  /** the name may be one that somebody had before */
  again?: boolean
}

/** Records name who made them: whoever gets a name that was used before gets that person's records, so it is asked for. */
export async function addUser(db: Database, { username, password, roles, again = false }: NewUser): Promise<Account> {
  checkRules({ username, password, roles })
  const hash = await hashPassword(password)
  const { rows } = await sql<Record<string, unknown>>`
    INSERT INTO dossier_users (username, password, roles, createdOn)
    SELECT ${username}, ${hash}, ${JSON.stringify(roles)}, ${Date.now()}
    WHERE ${again ? 1 : 0} OR NOT EXISTS (SELECT 1 FROM dossier_former WHERE username = ${username})
    ON CONFLICT DO NOTHING RETURNING ${sql.join(ACCOUNT.map((name) => sql.ref(name)))}`.execute(db)
  if (rows[0]) return toAccount(rows[0])
  const isThere = await db.selectFrom(USERS).select('username').where('username', '=', username).executeTakeFirst()
  throw isThere
    ? new Failure('NOT_UNIQUE', `There is a user "${username}" already.`, { errors: { username: 'is taken' } })
    : new Failure(
        'NOT_UNIQUE',
        `Somebody was called "${username}" before, and records still name them. Choose another name, or say "again" (--again) if the records shall be the new user's.`,
        { errors: { username: 'was used before' } },
      )
}

/**
 * A new password or a closed door ends the user's sessions, but for the one that is kept. With the proof of a password,
 * only while that is still the user's.
 */
export async function changeUser(
  storage: Storage,
  username: string,
  change: UserChange,
  { kept = '', proof }: { kept?: string; proof?: string } = {},
): Promise<Account> {
  checkRules({ username, ...change })
  const { db } = storage
  const values = {
    ...(change.roles && { roles: JSON.stringify(change.roles) }),
    ...(change.enabled !== undefined && { enabled: change.enabled ? 1 : 0 }),
    ...(change.password !== undefined && { password: await hashPassword(change.password) }),
  }
  const user = db
    .updateTable(USERS)
    .set({ username: sql`username`, ...values })
    .where('username', '=', username)
  // Hashing takes time: who proved an earlier password has proved nothing.
  const update = proof === undefined ? user : user.where('password', '=', proof)
  const endsSessions = change.password !== undefined || change.enabled === false
  const missed =
    proof === undefined
      ? noSuchUser(username)
      : new Failure('LOGIN_INCORRECT', 'The password has been changed meanwhile.')
  const changed = await keepingAnAdmin(storage, missed, [
    update.returning(ACCOUNT).compile(),
    ...(endsSessions ? [endSessions(db, username, kept)] : []),
    // Who gets a new password has most likely tried the old one too often.
    ...(change.password === undefined ? [] : [forgive(db, username)]),
  ])
  return toAccount(changed)
}

/** Their sessions go with them, by the foreign key; the name is remembered. Returns it as it was spelt. */
export async function removeUser(storage: Storage, username: string): Promise<string> {
  const remove = storage.db.deleteFrom(USERS).where('username', '=', username).returning('username').compile()
  const remember = { sql: 'INSERT OR IGNORE INTO dossier_former VALUES (?)', parameters: [username] }
  const removed = await keepingAnAdmin(storage, noSuchUser(username), [remove, remember])
  return removed.username as string
}

/** Lets somebody log in again who has tried too often. Returns the name as it is spelt. */
export async function unlockUser(storage: Storage, username: string): Promise<string> {
  const look = storage.db.selectFrom(USERS).select('username').where('username', '=', username).compile()
  const unlocked = await keepingAnAdmin(storage, noSuchUser(username), [look, forgive(storage.db, username)])
  return unlocked.username as string
}

function toAccount(row: Record<string, unknown>): Account {
  const moment = (time: unknown) => new Date(time as number).toISOString()
  return {
    username: row.username as string,
    roles: JSON.parse(row.roles as string),
    enabled: row.enabled === 1,
    createdOn: moment(row.createdOn),
    lastLogin: row.lastLogin === null ? null : moment(row.lastLogin),
  }
}

/** There was an enabled admin before, and there is none now; the first step tells what was before. */
const ADMINS = `SELECT count(*) AS admins FROM dossier_users, json_each(dossier_users.roles)
  WHERE enabled = 1 AND json_each.value = 'admin'`

/** A unit that is undone if it would leave nobody to manage the others. Returns the row of its first step. */
async function keepingAnAdmin(storage: Storage, missed: Failure, [first, ...others]: Step[]) {
  const steps: Step[] = [
    { sql: ADMINS, parameters: [] },
    { ...(first as Step), must: true },
    ...others,
    { sql: `SELECT 1 WHERE ? = 0 OR (${ADMINS}) > 0`, parameters: [{ step: 0, column: 'admins' }], must: true },
  ]
  try {
    const rows = await storage.write({ steps })
    return rows[1]?.[0] as Record<string, unknown>
  } catch (error) {
    if (!(error instanceof StorageFault) || error.kind !== 'missed') throw error
    if (error.details.step === 1) throw missed
    throw new Failure(
      'LAST_ADMIN',
      'This is the last enabled user with the role admin. Give somebody else that role first.',
    )
  }
}

const noSuchUser = (username: string) => new Failure('RECORD_NOT_FOUND', `There is no user "${username}".`)

/** The rules that hold on every way in: over HTTP, on the command line, and for the first admin. */
function checkRules({ username, password, roles = [] }: { username: string } & UserChange): void {
  const errors: Record<string, string> = {}
  if (!new RegExp(USERNAME).test(username)) errors.username = 'must be 1 to 64 letters, digits, ".", "_", "-" or "@"'
  if (password !== undefined) {
    if (password.length < MIN_PASSWORD || password.length > MAX_PASSWORD)
      errors.password = `must have ${MIN_PASSWORD} to ${MAX_PASSWORD} characters`
    else if (password.toLowerCase() === username.toLowerCase()) errors.password = 'must not be the username'
  }
  const odd = roles.filter((role) => !new RegExp(ROLE).test(role))
  if (odd.length > 0) errors.roles = `must be 1 to 64 letters, digits, ".", "_" or "-" each: ${odd.join(', ')}`
  const sentences = Object.entries(errors).map(([name, message]) => `${name} ${message}`)
  if (sentences.length > 0) throw new Failure('VALIDATION_FAILED', `${sentences.join('; ')}.`, { errors })
}
