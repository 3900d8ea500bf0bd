import type { Config } from '../config.ts'
import { Failure } from '../errors.ts'
import type { Database, Row, Step } from '../storage/storage.ts'

const ATTEMPTS = 'dossier_attempts'
/** Old ones are swept away in portions: nobody who logs in waits for more. */
const SWEEP = 100

/** Who is being tried right now, in this process: one after the other, so that many at once cannot slip past the limit. */
const lines = new Map<string, Promise<unknown>>()

/**
 * Guards tries to log in: while there are too many failures of a username from an address, no password is looked at.
 * Only a wrong password counts (`check` resolves with undefined); a right one takes back what was counted.
 */
export async function guardAttempts<Result>(
  db: Database,
  config: Config,
  name: string,
  address: string,
  check: () => Promise<Result | undefined>,
): Promise<Result | undefined> {
  // Longer names exist for nobody; what they would fill is the disk.
  const username = name.slice(0, 64).toLowerCase()
  return inLine(`${username} ${address}`, async () => {
    const failures = await readFailures(db, config, username, address)
    if (failures.length >= config.LOGIN_ATTEMPTS) throw tooMany(config, failures)
    const result = await check()
    if (result === undefined) await countFailure(db, config, username, address)
    else if (failures.length > 0)
      await db.deleteFrom(ATTEMPTS).where('username', '=', username).where('address', '=', address).execute()
    return result
  })
}

/** Lets a user try again at once, from everywhere: a step of whatever unit it belongs to. */
export const forgive = (db: Database, username: string): Step =>
  db.deleteFrom(ATTEMPTS).where('username', '=', username.toLowerCase()).compile()

/** What was counted while the clock was far ahead does not count: it would lock somebody out until that day. */
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
  const some = db.selectFrom(ATTEMPTS).select('id').orderBy('at').limit(SWEEP)
  for (const useless of [
    some.where('at', '<=', now - windowMs(config)),
    some.where('at', '>=', now + windowMs(config)),
  ])
    await db.deleteFrom(ATTEMPTS).where('id', 'in', useless).execute()
}

const windowMs = ({ LOGIN_WINDOW_MINUTES }: Config) => LOGIN_WINDOW_MINUTES * 60_000

function tooMany(config: Config, [first]: Row[]): Failure {
  const left = Math.min((first?.at as number) + windowMs(config) - Date.now(), windowMs(config))
  const seconds = Math.max(1, Math.ceil(left / 1000))
  return new Failure('TOO_MANY_ATTEMPTS', `Too many failed logins. Try again in ${seconds} seconds.`, {
    headers: { 'retry-after': String(seconds) },
  })
}

async function inLine<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
  const before = lines.get(name) ?? Promise.resolve()
  const mine = before.then(work, work)
  lines.set(name, mine)
  try {
    return await mine
  } finally {
    if (lines.get(name) === mine) lines.delete(name)
  }
}
