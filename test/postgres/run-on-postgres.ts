import t from 'tap'
import { runTogether } from '../groups.ts'

/** Whether there is a server to test with; if not, it is said so, and an error where `CI` is set. */
export function hasServer(): boolean {
  if (process.env.TEST_POSTGRES) return true
  const why = 'there is no PostgreSQL server: npm test starts one'
  if (process.env.CI) throw new Error(why)
  t.skip(why, () => {})
  return false
}

/** Set in the process that `runOnPostgres` starts. */
const IS_CHILD = process.env.TEST_ENGINE === 'postgres'

/**
 * Runs tests of the service once more, on PostgreSQL, one file after the other. Unless they are covered, a process of
 * its own runs them, in which no coverage is measured: that takes a third longer, and most lines are covered on SQLite.
 */
export async function runOnPostgres(files: string[], isCovered = false): Promise<void> {
  if (!hasServer()) return
  if (isCovered) process.env.TEST_ENGINE = 'postgres'
  if (isCovered || IS_CHILD) return runTogether(files)
  const script = process.argv[1] as string
  const env = { ...process.env, TEST_ENGINE: 'postgres', _TAPJS_PROCESSINFO_COVERAGE_: '0' }
  await t.spawn(process.execPath, [...process.execArgv, script], { env, timeout: 0 }, 'on PostgreSQL')
}
