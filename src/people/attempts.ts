import type { Config } from '../config.ts'
import type { Database } from '../database/database.ts'
import { Failure } from '../errors.ts'

const ATTEMPTS = 'dossier_attempts'

/**
 * Guards one try to log in. The try counts as failed before the password is looked at, so that many at once cannot slip
 * past the limit; `forget` takes back all failures of this username from this address after a success.
 */
export async function countAttempt(db: Database, config: Config, name: string, address: string) {
  const windowMs = config.LOGIN_WINDOW_MINUTES * 60_000
  const now = Date.now()
  // Longer names exist for nobody; what they would fill is the disk.
  const username = name.slice(0, 64).toLowerCase()
  await db
    .deleteFrom(ATTEMPTS)
    .where('at', '<=', now - windowMs)
    .execute()
  const { id } = (await db
    .insertInto(ATTEMPTS)
    .values({ username, address, at: now })
    .returning('id')
    .executeTakeFirstOrThrow()) as { id: number }
  const earlier = await db
    .selectFrom(ATTEMPTS)
    .select('at')
    .where('username', '=', username)
    .where('address', '=', address)
    .where('id', '<', id)
    .orderBy('at')
    .execute()
  if (earlier.length >= config.LOGIN_ATTEMPTS) {
    await db.deleteFrom(ATTEMPTS).where('id', '=', id).execute()
    const seconds = Math.max(1, Math.ceil(((earlier[0]?.at as number) + windowMs - now) / 1000))
    throw new Failure('TOO_MANY_ATTEMPTS', `Too many failed logins. Try again in ${seconds} seconds.`, {
      headers: { 'retry-after': String(seconds) },
    })
  }
  const forget = () => db.deleteFrom(ATTEMPTS).where('username', '=', username).where('address', '=', address).execute()
  return { forget }
}
