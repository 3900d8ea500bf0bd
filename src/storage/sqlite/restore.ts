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
  if (existsSync(file)) takeAlone(file)
  const draft = `${file}.restoring`
  try {
    makeFolder(dataDir)
    // Looked at where it will be: SQLite wants to write beside it, and where the backup is nothing may be writable.
    rmSync(draft, { force: true })
    copyFileSync(copy, draft)
    // A copy takes over the mode of what it is made from.
    chmodSync(draft, 0o600)
    check(copy, draft)
    goOnAfter(draft, file)
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
function goOnAfter(draft: string, file: string): void {
  const copy = new Sqlite(draft)
  const own = lastChange(copy)
  const there = existsSync(file) ? numbersIn(file, own) : { last: 0, isLater: false }
  const next = Math.max(own?.change ?? 0, there.last) + (there.isLater ? 1 : FAR)
  copy.prepare(`DELETE FROM sqlite_sequence WHERE name = 'dossier_changes'`).run()
  copy.prepare(`INSERT INTO sqlite_sequence (name, seq) VALUES ('dossier_changes', ?)`).run(next)
  copy.close()
}

interface LastChange {
  change: number
  at: string
}

/** How far the database that is replaced has come, and whether it went on from where the copy was made. */
function numbersIn(file: string, own: LastChange | undefined): { last: number; isLater: boolean } {
  const database = new Sqlite(file, { readonly: true })
  const numbers = { last: 0, isLater: false }
  try {
    numbers.last = lastChange(database)?.change ?? 0
    const same = database.prepare('SELECT 1 FROM dossier_changes WHERE change = ? AND at = ?').get(own?.change, own?.at)
    numbers.isLater = same !== undefined
  } catch {
    // It is damaged, or older than the history.
  }
  database.close()
  return numbers
}

function lastChange(database: Sqlite.Database): LastChange | undefined {
  const isThere = database.prepare(`SELECT 1 FROM sqlite_schema WHERE name = 'dossier_changes'`).get()
  if (!isThere) return undefined
  return database.prepare('SELECT change, at FROM dossier_changes ORDER BY change DESC LIMIT 1').get() as
    | LastChange
    | undefined
}

/** Nobody else has it open, and all that was in the write-ahead log is in the file. A damaged one is kept as it is. */
function takeAlone(file: string): void {
  let database: Sqlite.Database | undefined
  try {
    database = new Sqlite(file, { timeout: 0 })
    database.pragma('locking_mode = exclusive')
    database.exec('BEGIN EXCLUSIVE; COMMIT')
    database.pragma('wal_checkpoint(truncate)')
  } catch (error) {
    const { code = '' } = error as { code?: string }
    if (code === 'SQLITE_BUSY') throw new DatabaseError('The service is running. Stop it first.')
    if (code !== 'SQLITE_NOTADB' && !code.startsWith('SQLITE_CORRUPT')) throw error
  } finally {
    database?.close()
  }
}

function syncFile(path: string): void {
  const handle = openSync(path, 'r')
  fsyncSync(handle)
  closeSync(handle)
}
