import type { Config } from '../config.ts'
import { Failure } from '../errors.ts'
import { KeyedMutex } from '../lib/keyed-mutex.ts'
import type { Database, Row, Step } from '../storage/storage.ts'

const ATTEMPTS = 'dossier_attempts'
/** Expired rows are deleted in portions of this size, so no login waits long for the cleanup. */
const EXPIRED_PER_LOGIN = 100

/** Login attempts of one username and address run in sequence in this process, so the limit cannot be raced. */
const attempts = new KeyedMutex()

/**
 * Limits failed logins per username and address: above the limit `check` is not called. Only a wrong password counts as
 * a failure (`check` resolves with undefined); a right one deletes the failures counted so far.
 */
export async function guardAttempts<Result>(
  db: Database,
  config: Config,
  name: string,
  address: string,
  check: () => Promise<Result | undefined>,
): Promise<Result | undefined> {
  // No username is longer; the cut keeps attackers from filling the disk with long names.
  const username = name.slice(0, 64).toLowerCase()
  return attempts.run(`${username} ${address}`, async () => {
    const failures = await readFailures(db, config, username, address)
    if (failures.length >= config.LOGIN_ATTEMPTS) throw tooManyAttemptsFailure(config, failures)
    const result = await check()
    if (result === undefined) await countFailure(db, config, username, address)
    else if (failures.length > 0)
      await db.deleteFrom(ATTEMPTS).where('username', '=', username).where('address', '=', address).execute()
    return result
  })
}

/** Step that deletes all failures of a user, from any address; part of a larger unit. */
export const clearAttempts = (db: Database, username: string): Step =>
  db.deleteFrom(ATTEMPTS).where('username', '=', username.toLowerCase()).compile()

/** Ignores rows from far in the future, written while the clock was wrong: they would lock the user out until then. */
async function readFailures(db: Database, config: Config, username: string, address: string): Promise<Row[]> {
  const now = Date.now()
  return db
    .selectFrom(ATTEMPTS)
    .select('at')
    .where('username', '=', username)
    .where('address', '=', address)
    .where('at', '>', now - windowMs(config))
    .where('at', '<', now + windowMs(config))
    .orderBy('at')
    .limit(config.LOGIN_ATTEMPTS)
    .execute()
}

async function countFailure(db: Database, config: Config, username: string, address: string): Promise<void> {
  const now = Date.now()
  await db.insertInto(ATTEMPTS).values({ username, address, at: now }).execute()
  const some = db.selectFrom(ATTEMPTS).select('id').orderBy('at').limit(EXPIRED_PER_LOGIN)
  for (const useless of [
    some.where('at', '<=', now - windowMs(config)),
    some.where('at', '>=', now + windowMs(config)),
  ])
    await db.deleteFrom(ATTEMPTS).where('id', 'in', useless).execute()
}

const windowMs = ({ LOGIN_WINDOW_MINUTES }: Config) => LOGIN_WINDOW_MINUTES * 60_000

function tooManyAttemptsFailure(config: Config, [first]: Row[]): Failure {
  const left = Math.min((first?.at as number) + windowMs(config) - Date.now(), windowMs(config))
  const seconds = Math.max(1, Math.ceil(left / 1000))
  return new Failure('TOO_MANY_ATTEMPTS', `Too many failed logins. Try again in ${seconds} seconds.`, {
    headers: { 'retry-after': String(seconds) },
  })
}
