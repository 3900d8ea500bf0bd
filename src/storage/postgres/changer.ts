import type { Job } from '../storage.ts'
import { Connection } from './connection.ts'
import { toFault } from './faults.ts'
import { createDatabase } from './kysely.ts'

/** Advisory lock that is held while tables are changed. */
const CHANGE_LOCK = 3_333_000_002
/**
 * How long a change waits for a table lock. While it waits, others wait behind it. Then it fails as `busy`, so that
 * they continue, and `tables/migrate.ts` retries it.
 */
const LOCK_MS = 2000

/** Runs a job in one transaction, on a connection of its own. If two nodes change tables, one waits for the other. */
export async function change<Input, Result>(url: string, job: Job<Input, Result>, input: Input): Promise<Result> {
  return Connection.with(url, (connection) => carryOut(connection, job, input)).catch((error) => {
    throw toFault(error)
  })
}

async function carryOut<Input, Result>(connection: Connection, { module, name }: Job<Input, Result>, input: Input) {
  const { [name]: run } = await import(module)
  const say = (sql: string) => connection.runUnprepared({ sql, parameters: [] })
  await say(`BEGIN; SET LOCAL lock_timeout = ${LOCK_MS}; SELECT pg_advisory_xact_lock(${CHANGE_LOCK})`)
  const result: Result = await run(
    createDatabase((query) =>
      connection.runUnprepared(query).catch((error) => {
        throw toFault(error)
      }),
    ),
    input,
  )
  await say('COMMIT')
  return result
}
