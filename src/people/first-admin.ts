import type { Config } from '../config.ts'
import { Failure } from '../errors.ts'
import type { Storage } from '../storage/storage.ts'
import { generatePassword } from './password.ts'
import { addUser } from './users.ts'

/** Shows a generated password to the operator. */
export type ShowPassword = (username: string, password: string) => void

/** Creates the first admin if there are no users. Removes it again if its generated password cannot be shown. */
export async function ensureAdmin(storage: Storage, config: Config, show: ShowPassword): Promise<void> {
  const { db } = storage
  if (await db.selectFrom('dossier_users').select('username').limit(1).executeTakeFirst()) return
  const { ADMIN_USERNAME: username, ADMIN_PASSWORD } = config
  const password = ADMIN_PASSWORD ?? generatePassword()
  try {
    await addUser(storage, { username, password, roles: ['admin'], again: true })
  } catch (error) {
    // Another process that started at the same time was faster.
    if (error instanceof Failure && error.code === 'NOT_UNIQUE') return
    throw error
  }
  if (ADMIN_PASSWORD !== undefined) return
  try {
    show(username, password)
  } catch (error) {
    await db.deleteFrom('dossier_users').where('username', '=', username).execute()
    throw error
  }
}
