import {
  chmodSync,
  closeSync,
  copyFileSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { backupName } from '../../lib/backup-name.ts'
import { DatabaseError } from '../storage.ts'
import { checkCopy } from './backup.ts'
import { databaseFile } from './connections.ts'
import { makeFolder } from './private.ts'

/**
 * Puts a checked copy in the place of the database. Whenever it is cut short, the database is either the old one or the
 * new one, whole: the copy is finished beside it, and takes its name in one step. Returns where the old one is kept.
 */
export function restoreDatabase(dataDir: string, copy: string): string | undefined {
  if (!existsSync(copy)) throw new DatabaseError(`${copy} does not exist.`)
  const file = databaseFile(dataDir)
  const last = existsSync(file) ? takeAlone(file) : undefined
  const draft = `${file}.restoring`
  try {
    makeFolder(dataDir)
    // Looked at where it will be: SQLite wants to write beside it, and where the backup is nothing may be writable.
    rmSync(draft, { force: true })
    copyFileSync(copy, draft)
    // A copy takes over the mode of what it is made from.
    chmodSync(draft, 0o600)
    check(copy, draft)
    goOnAfter(draft, last)
    syncFile(draft)
    const kept = existsSync(file) ? keep(dataDir, file) : undefined
    for (const ending of ['-wal', '-shm']) rmSync(file + ending, { force: true })
    renameSync(draft, file)
    syncFile(dataDir)
    return kept
  } finally {
    for (const ending of ['', '-wal', '-shm']) rmSync(draft + ending, { force: true })
  }
}

function check(copy: string, draft: string): void {
  try {
    checkCopy(draft)
  } catch (error) {
    const why = (error as Error).message.replaceAll(draft, copy)
    throw new DatabaseError(`${copy} is not a healthy copy (${why}). Nothing was changed.`)
  }
}

function keep(dataDir: string, file: string): string {
  const kept = join(dataDir, 'backups', backupName('replaced'))
  makeFolder(join(dataDir, 'backups'))
  linkSync(file, kept)
  return kept
}

/** Further than anybody has come since a copy was made, where there is no telling how far that was. */
const FAR = 1_000_000_000

/**
 * Numbers of changes that were made after the copy are not given again: whoever comes back with one of them must not be
 * told what happened after another change of the same number.
 */
function goOnAfter(draft: string, last: number | undefined): void {
  const database = new Sqlite(draft)
  const own = lastChange(database) ?? 0
  database.prepare(`DELETE FROM sqlite_sequence WHERE name = 'dossier_changes'`).run()
  database
    .prepare(`INSERT INTO sqlite_sequence (name, seq) VALUES ('dossier_changes', ?)`)
    .run(Math.max(own, last ?? own + FAR) + 1)
  database.close()
}

const lastChange = (database: Sqlite.Database) =>
  database.prepare(`SELECT seq FROM sqlite_sequence WHERE name = 'dossier_changes'`).pluck().get() as number | undefined

/**
 * Nobody else has it open, and all that was in the write-ahead log is in the file. A damaged one is kept as it is. Returns
 * the number of the last change.
 */
function takeAlone(file: string): number | undefined {
  let last: number | undefined
  let database: Sqlite.Database | undefined
  try {
    database = new Sqlite(file, { timeout: 0 })
    database.pragma('locking_mode = exclusive')
    database.exec('BEGIN EXCLUSIVE; COMMIT')
    database.pragma('wal_checkpoint(truncate)')
    last = lastChange(database) ?? 0
  } catch (error) {
    const { code = '' } = error as { code?: string }
    if (code === 'SQLITE_BUSY') throw new DatabaseError('The service is running. Stop it first.')
    if (code !== 'SQLITE_NOTADB' && !code.startsWith('SQLITE_CORRUPT')) throw error
  } finally {
    database?.close()
  }
  return last
}

function syncFile(path: string): void {
  const handle = openSync(path, 'r')
  fsyncSync(handle)
  closeSync(handle)
}
