import { type Job, StorageFault, type WriteJobOptions } from '../storage.ts'
import { Connection } from './connection.ts'
import { toFault } from './faults.ts'
import { createKyselyDatabase } from './kysely.ts'

/**
 * Advisory locks that are held in a transaction that changes tables, and by the process that prepares and executes it.
 */
const CHANGE_LOCK = 3_333_000_002
const PROCESS_LOCK = 3_333_000_003
/**
 * How long a job waits for a table lock. While it waits, others wait behind it. Then it fails as `busy`, so that
 * they continue, and `tables/migrate.ts` retries it.
 */
const LOCK_MS = 500

/** A job takes as long as it takes, whatever the server limits for others. */
const NO_LIMITS = 'SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0; SET idle_session_timeout = 0'

/** Statements before and after a job, by its mode. */
const JOB_STATEMENTS = {
  // If two nodes change tables, one waits for the other.
  transaction: (lockMs: number) => [
    `${NO_LIMITS}; BEGIN; SET LOCAL lock_timeout = ${lockMs}; SELECT pg_advisory_xact_lock(${CHANGE_LOCK})`,
    'COMMIT',
  ],
  snapshot: (lockMs: number) => [
    `${NO_LIMITS}; BEGIN ISOLATION LEVEL REPEATABLE READ; SET LOCAL lock_timeout = ${lockMs}`,
    'COMMIT',
  ],
  'no transaction': (lockMs: number) => [`${NO_LIMITS}; SET lock_timeout = ${lockMs}`, 'RESET lock_timeout'],
}

/** Runs a job on a connection of its own. */
export async function runWriteJob<Input, Result>(
  url: string,
  job: Job<Input, Result>,
  input: Input,
  { lockMs = LOCK_MS, signal }: WriteJobOptions,
): Promise<Result> {
  const [before, after] = JOB_STATEMENTS[job.mode ?? 'transaction'](lockMs) as [string, string]
  const carryOut = async (connection: Connection) => {
    const { [job.name]: run } = await import(job.module)
    const runSql = (sql: string) => connection.runUnprepared({ sql, parameters: [] })
    await runSql(before)
    const execute = (query: { sql: string; parameters: readonly unknown[] }) =>
      connection.runUnprepared(query).catch((error) => {
        throw toFault(error)
      })
    const result: Result = await run(createKyselyDatabase(execute), input)
    await runSql(after)
    return result
  }
  const withAbort = (connection: Connection) => {
    const abort = () => connection.destroy()
    signal?.addEventListener('abort', abort)
    return carryOut(connection).finally(() => signal?.removeEventListener('abort', abort))
  }
  return Connection.with(url, withAbort).catch((error) => {
    throw toFault(error)
  })
}

/**
 * Runs `work` while no other process does so; else it fails as `busy`. The lock belongs to a connection: that of a
 * process that has died is closed by the server.
 */
export async function runExclusively<Result>(url: string, work: () => Promise<Result>): Promise<Result> {
  const lock = async (connection: Connection) => {
    await connection.runUnprepared({ sql: NO_LIMITS, parameters: [] })
    // Nobody waits in a transaction: the building of an index would wait for it.
    const sql = `SELECT pg_try_advisory_lock(${PROCESS_LOCK}) AS "isFree"`
    const [row] = await connection.runUnprepared({ sql, parameters: [] })
    if (row?.isFree !== 1) throw new StorageFault('busy', 'Another process is changing tables.')
    return work()
  }
  return Connection.with(url, lock).catch((error) => {
    throw toFault(error)
  })
}
