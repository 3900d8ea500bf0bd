import type { Job } from '../storage.ts'
import { Connection } from './connection.ts'
import { toFault } from './faults.ts'
import { createDatabase } from './kysely.ts'

/** Whoever changes tables holds this lock. */
const CHANGE_LOCK = 3_333_000_002
/** How long a change waits for those who use the tables, before it lets them go on and is tried again. */
const LOCK_MS = 2000

/** A job on the tables, in one transaction, on a connection of its own. Of two nodes, one waits for the other. */
export async function change<Input, Result>(url: string, job: Job<Input, Result>, input: Input): Promise<Result> {
  return Connection.with(url, (connection) => carryOut(connection, job, input)).catch((error) => {
    throw toFault(error)
  })
}

async function carryOut<Input, Result>(connection: Connection, { module, name }: Job<Input, Result>, input: Input) {
  const { [name]: run } = await import(module)
  const say = (sql: string) => connection.runOnce({ sql, parameters: [] })
  await say(`BEGIN; SET LOCAL lock_timeout = ${LOCK_MS}; SELECT pg_advisory_xact_lock(${CHANGE_LOCK})`)
  const result: Result = await run(
    createDatabase((query) =>
      connection.runOnce(query).catch((error) => {
        throw toFault(error)
      }),
    ),
    input,
  )
  await say('COMMIT')
  return result
}
