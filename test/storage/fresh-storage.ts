import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import tap, { type Test } from 'tap'
import { databaseFile } from '../../src/storage/sqlite/connections.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { emptyFolder, testStorage } from '../helper.ts'

/**
 * One SQLite storage for all tests of a file. Opening one starts threads, and these import most of the code: that takes
 * longer than most tests. Each test gets the database as it was at first.
 */
interface Shared {
  storage: Storage
  folder: string
  /** the database as it was at first */
  first: Sqlite.Database
}

let shared: Promise<Shared> | undefined

async function open(): Promise<Shared> {
  const folder = emptyFolder(tap as Test)
  const storage = await testStorage(tap as Test, folder)
  const now = new Sqlite(databaseFile(join(folder, 'data')), { readonly: true })
  await now.backup(join(folder, 'first.db'))
  now.close()
  const first = new Sqlite(join(folder, 'first.db'))
  tap.teardown(() => first.close())
  return { storage, folder, first }
}

/** Returns the storage of this file, with an empty database, and its folder. The test must not close it. */
export async function freshStorage(): Promise<{ storage: Storage; folder: string }> {
  const isNew = shared === undefined
  shared ??= open()
  const { storage, folder, first } = await shared
  // A backup into a database that is in use is a transaction like any other: all connections see what it brings.
  if (!isNew) await first.backup(databaseFile(join(folder, 'data')))
  return { storage, folder }
}
