import { sql } from 'kysely'
import { USERNAME } from '../config.ts'
import { Failure } from '../errors.ts'
import { addressGroup } from '../lib/address-group.ts'
import { toIso } from '../lib/dates.ts'
import { type Attributes, type AttributeValue, RIGHTS_MODEL, type User } from '../model/access.ts'
import type { Database, Step, WriteStorage } from '../storage/storage.ts'
import { writeOrExplain } from '../storage/write-or-explain.ts'
import { clearAttempts } from './attempts.ts'
import { attributesFault, changedAttributes } from './attributes.ts'
import { writeKeepingAdmin } from './last-admin.ts'
import { checkPassword, hashPassword } from './password.ts'
import { endSessions } from './sessions.ts'
import { throwIfInvalid } from './throw-if-invalid.ts'
import { RIGHTS, toUser } from './user-row.ts'
import { deleteOwnViews } from './views.ts'

/** A user as an admin sees them: never with the password's hash. */
export interface Account extends Required<Omit<User, 'rightsSince'>> {
  enabled: boolean
  createdOn: string
  lastLogin: string | null
  /** false: the user can only use tokens */
  hasPassword: boolean
}

export interface UserChange {
  roles?: string[]
  /** all of them: what is left out is removed */
  attributes?: Attributes
  enabled?: boolean
  password?: string
}

const USERS = 'dossier_users'
/** Stored instead of a hash; no password matches it. */
const NO_PASSWORD = ''
const HAS_PASSWORD = sql<number>`password <> ${sql.lit(NO_PASSWORD)}`.as('hasPassword')
const ACCOUNT = ['username', 'roles', 'attributes', 'enabled', 'createdOn', 'lastLogin', HAS_PASSWORD] as const
const ROLE = /^[A-Za-z0-9._-]{1,64}$/
const MIN_PASSWORD = 10
/** Hashing time grows with the length, and nobody types more. */
const MAX_PASSWORD = 1024

/** A user whose password was just verified; `proof` is its hash. */
export interface VerifiedLogin {
  user: User
  proof: string
}

/** Returns the user if the password matches and the user is enabled. Takes as long for an unknown user. */
export async function authenticate(
  db: Database,
  username: string,
  password: string,
  address: string,
): Promise<VerifiedLogin | undefined> {
  const row = await db
    .selectFrom(USERS)
    .select([...RIGHTS, 'password', 'lastAddress'])
    .where('username', '=', username)
    .where('enabled', '=', 1)
    .executeTakeFirst()
  const isKnown = typeof row?.lastAddress === 'string' && addressGroup(row.lastAddress) === addressGroup(address)
  const matches = await checkPassword(password, (row?.password as string | undefined) || undefined, {
    address,
    isKnown,
  })
  if (!row || !matches) return undefined
  return { user: toUser(row), proof: row.password as string }
}

/** Finds an enabled user by name, or throws. */
export async function findUser(db: Database, username: string): Promise<User> {
  const row = await db
    .selectFrom(USERS)
    .select(RIGHTS)
    .where('username', '=', username)
    .where('enabled', '=', 1)
    .executeTakeFirst()
  if (!row) throw noSuchUserFailure(username)
  return toUser(row)
}

/** Throws if there is no such user, enabled or not. */
export async function requireUser(db: Database, username: string): Promise<void> {
  const row = await db.selectFrom(USERS).select('username').where('username', '=', username).executeTakeFirst()
  if (!row) throw noSuchUserFailure(username)
}

export async function listUsers(db: Database): Promise<Account[]> {
  const rows = await db.selectFrom(USERS).select(ACCOUNT).execute()
  const key = ({ username }: Account) => username.toLowerCase()
  // Sorted here, because the engines' collations differ.
  return rows.map(toAccount).sort((a, b) => (key(a) < key(b) ? -1 : 1))
}

/** The attributes of all users. A database of an earlier version has none yet. */
export async function readAttributes(db: Database): Promise<{ attributes: Attributes }[]> {
  if (!(await db.dialect.tables.hasColumn(db, USERS, 'attributes'))) return []
  const rows = await db.selectFrom(USERS).select('attributes').execute()
  return rows.map(({ attributes }) => ({ attributes: JSON.parse(attributes as string) }))
}

export interface NewUser {
  username: string
  /** without one, the user can only use tokens */
  password?: string | undefined
  roles: string[]
  attributes?: Attributes
  /** allows a name that a deleted user had */
  again?: boolean
}

/** Records name their owner: a new user with a former user's name gets those records, so `again` must be explicit. */
export async function addUser(
  storage: WriteStorage,
  { username, password, roles, attributes = {}, again = false }: NewUser,
): Promise<Account> {
  validateUser({ username, roles, attributes, ...(password !== undefined && { password }) })
  const hash = password === undefined ? NO_PASSWORD : await hashPassword(password)
  const insert = sql`
    INSERT INTO dossier_users (username, password, roles, attributes, "createdOn", "rightsSince")
    SELECT ${username}, ${hash}, ${JSON.stringify(roles)}, ${JSON.stringify(attributes)}, ${Date.now()},
      coalesce((SELECT max(change) FROM dossier_changes WHERE model = ${RIGHTS_MODEL} AND "createdBy" = ${username}), 0)
    WHERE ${again ? 1 : 0} = 1 OR NOT EXISTS (SELECT 1 FROM dossier_former WHERE username = ${username})
    ON CONFLICT DO NOTHING RETURNING username, roles, attributes, enabled, "createdOn", "lastLogin", password <> '' AS "hasPassword"`
  const [, [added] = []] = await writeOrExplain(
    () => storage.write({ steps: [noteFormer(username), { ...insert.compile(storage.db), mustReturnRow: true }] }),
    () => usernameTakenFailure(storage.db, username),
  )
  return toAccount(added as Record<string, unknown>)
}

async function usernameTakenFailure(db: Database, username: string): Promise<Failure> {
  const isThere = await db.selectFrom(USERS).select('username').where('username', '=', username).executeTakeFirst()
  return isThere
    ? new Failure('NOT_UNIQUE', `There is a user "${username}" already.`, { errors: { username: 'is taken' } })
    : new Failure(
        'NOT_UNIQUE',
        `Somebody was called "${username}" before, and records still name them. Choose another name, or say "again" (--again) if the records shall be the new user's.`,
        { errors: { username: 'was used before' } },
      )
}

/**
 * Changes a user. A new password, or disabling the user, ends all of the user's sessions except `kept`. With `proof`,
 * the hash of a verified password, the change fails if the password is another one by now; so it does with
 * `attributes`, if the user has others by now.
 */
export async function changeUser(
  storage: WriteStorage,
  username: string,
  change: UserChange,
  { kept = '', proof, attributes }: { kept?: string | undefined; proof?: string; attributes?: Attributes } = {},
): Promise<Account> {
  validateUser({ username, ...change })
  const { db } = storage
  const rights = {
    ...(change.roles && { roles: JSON.stringify(change.roles) }),
    ...(change.attributes && { attributes: JSON.stringify(change.attributes) }),
  }
  const values = {
    ...rights,
    ...(change.enabled !== undefined && { enabled: change.enabled ? 1 : 0 }),
    ...(change.password !== undefined && { password: await hashPassword(change.password) }),
  }
  const user = db
    .updateTable(USERS)
    .set({ username: sql`username`, ...values })
    .where('username', '=', username)
  // Hashing takes time, during which the password may have changed: then `proof` is no longer valid.
  const same = proof === undefined ? user : user.where('password', '=', proof)
  const update = attributes ? same.where('attributes', '=', JSON.stringify(attributes)) : same
  const endsSessions = change.password !== undefined || change.enabled === false
  const missed =
    proof === undefined
      ? noSuchUserFailure(username)
      : new Failure('LOGIN_INCORRECT', 'The password has been changed meanwhile.')
  const steps = [
    update.returning(ACCOUNT).compile(),
    ...(endsSessions ? [endSessions(db, username, kept)] : []),
    // A user who gets a new password has most likely failed too often with the old one.
    ...(change.password === undefined ? [] : [clearAttempts(db, username)]),
  ]
  return toAccount(await writeKeepingAdmin(storage, missed, steps, noteRights(username, rights)))
}

/**
 * Steps before a change of a user's rights: the journal gets an entry, so that every change of a record is made before
 * it or after it, and the user gets its number. Nothing is noted if the rights stay as they are.
 */
function noteRights(username: string, rights: Partial<Record<'roles' | 'attributes', string>>): Step[] {
  const names = Object.keys(rights) as (keyof typeof rights)[]
  if (names.length === 0) return []
  const isOther = names.map((name) => `${name} <> ?`).join(' OR ')
  const parameters = [username, ...names.map((name) => rights[name])]
  return [
    {
      sql: `INSERT INTO dossier_changes (model, id, version, operation, at, "createdBy", fields)
        SELECT '${RIGHTS_MODEL}', 0, 0, 'update', ?, username, '[]' FROM dossier_users
        WHERE username = ? AND (${isOther})`,
      parameters: [new Date().toISOString(), ...parameters],
    },
    {
      sql: `UPDATE dossier_users SET "rightsSince" =
        (SELECT change FROM dossier_changes WHERE model = '${RIGHTS_MODEL}' AND id = 0 ORDER BY change DESC LIMIT 1)
        WHERE username = ? AND (${isOther})`,
      parameters,
    },
  ]
}

/** Step that notes in the journal that a removed username is in use again: its old feed positions are invalid. */
const noteFormer = (username: string): Step => ({
  sql: `INSERT INTO dossier_changes (model, id, version, operation, at, "createdBy", fields)
    SELECT '${RIGHTS_MODEL}', 0, 0, 'update', ?, ?, '[]' FROM dossier_former WHERE username = ?`,
  parameters: [new Date().toISOString(), username, username],
})

/** Changes some attributes of a user; undefined removes one. Others keep what somebody else sets at the same time. */
export async function setAttributes(
  storage: WriteStorage,
  username: string,
  change: Map<string, AttributeValue | undefined>,
): Promise<Account> {
  const { db } = storage
  for (;;) {
    const row = await db.selectFrom(USERS).select('attributes').where('username', '=', username).executeTakeFirst()
    if (!row) throw noSuchUserFailure(username)
    const attributes: Attributes = JSON.parse(row.attributes as string)
    const next = changedAttributes(attributes, change)
    try {
      return await changeUser(storage, username, { attributes: next }, { attributes })
    } catch (error) {
      // Somebody else has changed them meanwhile, or removed the user.
      const isMissed = error instanceof Failure && error.code === 'RECORD_NOT_FOUND'
      if (!isMissed) throw error
    }
  }
}

/** Deletes a user; the foreign key deletes their sessions. The name is recorded as used. Returns it as it was spelt. */
export async function removeUser(storage: WriteStorage, username: string): Promise<string> {
  const remove = storage.db.deleteFrom(USERS).where('username', '=', username).returning('username').compile()
  const remember = {
    sql: 'INSERT INTO dossier_former (username) VALUES (?) ON CONFLICT DO NOTHING',
    parameters: [username],
  }
  const deleteKeys = { sql: 'DELETE FROM dossier_keys WHERE username = ?', parameters: [username] }
  const removed = await writeKeepingAdmin(storage, noSuchUserFailure(username), [
    remove,
    remember,
    deleteKeys,
    deleteOwnViews(username),
  ])
  return removed.username as string
}

/** Deletes the failed logins of a locked user. Returns the name as it is spelt. */
export async function unlockUser(storage: WriteStorage, username: string): Promise<string> {
  const named = storage.db.selectFrom(USERS).select('username').where('username', '=', username).compile()
  const unlocked = await writeKeepingAdmin(storage, noSuchUserFailure(username), [
    named,
    clearAttempts(storage.db, username),
  ])
  return unlocked.username as string
}

function toAccount(row: Record<string, unknown>): Account {
  return {
    username: row.username as string,
    roles: JSON.parse(row.roles as string),
    attributes: JSON.parse(row.attributes as string),
    enabled: row.enabled === 1,
    createdOn: toIso(row.createdOn as number),
    lastLogin: row.lastLogin === null ? null : toIso(row.lastLogin as number),
    hasPassword: row.hasPassword === 1,
  }
}

const noSuchUserFailure = (username: string) => new Failure('RECORD_NOT_FOUND', `There is no user "${username}".`)

/** Rules for all ways to write users: over HTTP, at the command line, and for the first admin. */
function validateUser({ username, password, roles = [], attributes = {} }: { username: string } & UserChange): void {
  const errors: Record<string, string> = {}
  if (!USERNAME.test(username)) errors.username = 'must be 1 to 64 letters, digits, ".", "_", "-" or "@"'
  if (password !== undefined) {
    if (password.length < MIN_PASSWORD || password.length > MAX_PASSWORD)
      errors.password = `must have ${MIN_PASSWORD} to ${MAX_PASSWORD} characters`
    else if (password.toLowerCase() === username.toLowerCase()) errors.password = 'must not be the username'
  }
  const odd = roles.filter((role) => !ROLE.test(role))
  if (odd.length > 0) errors.roles = `must be 1 to 64 letters, digits, ".", "_" or "-" each: ${odd.join(', ')}`
  const fault = attributesFault(attributes)
  if (fault !== undefined) errors.attributes = fault
  throwIfInvalid(errors)
}
