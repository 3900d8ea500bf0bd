import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Sqlite from 'better-sqlite3'
import pg from 'pg'
import type { Test } from 'tap'
import type { Config } from '../src/config.ts'

/** The engine that the tests run on: SQLite, or with TEST_ENGINE=postgres the server at TEST_POSTGRES. */

/** URL of a PostgreSQL server on which tests may create databases. */
const SERVER = process.env.TEST_POSTGRES ?? ''

/** Template database; `test/run.ts` may have created one with the service's own tables. */
const TEMPLATE = process.env.TEST_TEMPLATE ?? 'template0'

export const isPostgres = process.env.TEST_ENGINE === 'postgres'

/** Options of a test that is about SQLite itself. */
export const sqliteOnly = isPostgres ? { skip: 'about SQLite itself' } : {}

/** For tests of the OpenAPI document, which is made from the models alone. */
export const documentOnly = isPostgres ? { skip: 'about the document, which is the same on every engine' } : {}

/** Executes SQL beside the service, like an operator in the database's shell. */
export async function atShell({ DATA_DIR, DATABASE_URL }: Pick<Config, 'DATA_DIR' | 'DATABASE_URL'>, sql: string) {
  if (DATABASE_URL !== undefined) return onServer(sql, DATABASE_URL)
  // A shell would wait, but here the service is in the same process: what holds the lock may wait for this thread.
  const shell = new Sqlite(join(DATA_DIR, 'dossier.db'), { timeout: 0 })
  for (let left = TRIES; !hasExecuted(shell, sql, left); left--) await sleep(10)
  shell.close()
}

const TRIES = 6000

/** Whether the database was not locked. After the last try that is an error. */
function hasExecuted(shell: Sqlite.Database, sql: string, left: number): boolean {
  try {
    shell.exec(sql)
    return true
  } catch (error) {
    if (left > 0 && (error as { code?: string }).code === 'SQLITE_BUSY' && !shell.inTransaction) return false
    throw error
  }
}

/** Creates a database on the server, which is dropped after the test. Returns its URL. */
export async function postgresDatabase(t: Test, template = TEMPLATE): Promise<string> {
  const name = `test_${randomUUID().replaceAll('-', '')}`
  await onServer(`CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY file_copy`)
  t.teardown(() => onServer(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`))
  const url = new URL(SERVER)
  url.pathname = name
  return String(url)
}

/** Executes SQL on the server, or in the database at `url`. */
export async function onServer(sql: string, url = SERVER): Promise<void> {
  const client = new pg.Client(url)
  await client.connect()
  await client.query(sql)
  await client.end()
}
