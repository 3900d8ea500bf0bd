import type { Config } from '../config.ts'
import type { Database } from '../database/database.ts'
import { checkPassword, hashPassword, madeUpPassword } from './password.ts'

/** Who makes a request. */
export interface User {
  username: string
  roles: string[]
}

const USERS = 'dossier_users'

/** The user, if the password is theirs and they are enabled. It takes as long if they are unknown. */
export async function authenticate(db: Database, username: string, password: string): Promise<User | undefined> {
  const row = await db
    .selectFrom(USERS)
    .select(['username', 'password', 'roles'])
    .where('username', '=', username)
    .where('enabled', '=', 1)
    .executeTakeFirst()
  if (!(await checkPassword(password, row?.password as string | undefined)) || !row) return undefined
  await db.updateTable(USERS).set({ lastLogin: Date.now() }).where('username', '=', row.username).execute()
  return { username: row.username as string, roles: JSON.parse(row.roles as string) }
}

export async function addUser(db: Database, username: string, password: string, roles: string[]): Promise<void> {
  const values = {
    username,
    password: await hashPassword(password),
    roles: JSON.stringify(roles),
    createdOn: Date.now(),
  }
  await db.insertInto(USERS).values(values).execute()
}

/** While there are no users, makes the first admin. Returns the password if it had to be made up. */
export async function ensureAdmin(db: Database, config: Config): Promise<{ madeUp?: string }> {
  if (await db.selectFrom(USERS).select('username').limit(1).executeTakeFirst()) return {}
  const password = config.ADMIN_PASSWORD ?? madeUpPassword()
  await addUser(db, config.ADMIN_USERNAME, password, ['admin'])
  return config.ADMIN_PASSWORD === undefined ? { madeUp: password } : {}
}
