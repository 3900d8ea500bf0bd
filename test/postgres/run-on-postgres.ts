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

/** Runs tests of the service once more, on PostgreSQL, one file after the other in one process. */
export async function runOnPostgres(files: string[]): Promise<void> {
  if (!hasServer()) return
  process.env.TEST_ENGINE = 'postgres'
  await runTogether(files)
}
