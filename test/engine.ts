import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import pg from 'pg'
import type { Test } from 'tap'
import type { Config } from '../src/config.ts'

/** Which engine the tests run on: SQLite, unless a PostgreSQL server is named and asked for. */

/** Where a server is that databases can be made on. */
const SERVER = process.env.TEST_POSTGRES ?? ''

/** A database that has the service's own tables already, if somebody has made one. */
const TEMPLATE = process.env.TEST_TEMPLATE ?? 'template0'

export const isPostgres = process.env.TEST_ENGINE === 'postgres'

/** For what is about SQLite itself. */
export const sqliteOnly = isPostgres ? { skip: 'about SQLite itself' } : {}

/** What somebody does at the database's own shell, beside the service. */
export async function atShell({ DATA_DIR, DATABASE_URL }: Pick<Config, 'DATA_DIR' | 'DATABASE_URL'>, sql: string) {
  if (DATABASE_URL !== undefined) return onServer(sql, DATABASE_URL)
  const shell = new Sqlite(join(DATA_DIR, 'dossier.db'))
  shell.exec(sql)
  shell.close()
}

/** A database of its own on the server, gone after the test. */
export async function postgresDatabase(t: Test, template = TEMPLATE): Promise<string> {
  const name = `test_${randomUUID().replaceAll('-', '')}`
  await onServer(`CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY file_copy`)
  t.teardown(() => onServer(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`))
  const url = new URL(SERVER)
  url.pathname = name
  return String(url)
}

/** Says something to the server, about its databases, or to one of them. */
export async function onServer(sql: string, url = SERVER): Promise<void> {
  const client = new pg.Client(url)
  await client.connect()
  await client.query(sql)
  await client.end()
}
