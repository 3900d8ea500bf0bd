import { closeSync, copyFileSync, existsSync, fsyncSync, linkSync, openSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { backupName } from '../../lib/backup-name.ts'
import { DatabaseError } from '../storage.ts'
import { checkCopy } from './backup.ts'
import { databaseFile } from './connections.ts'
import { keepPrivate, makeFolder } from './private.ts'

/**
 * Puts a checked copy in the place of the database. Whenever it is cut short, the database is either the old one or the
 * new one, whole: the copy is finished beside it, and takes its name in one step. Returns where the old one is kept.
 */
export function restoreDatabase(dataDir: string, copy: string): string | undefined {
  if (!existsSync(copy)) throw new DatabaseError(`${copy} does not exist.`)
  try {
    checkCopy(copy)
  } catch (error) {
    throw new DatabaseError(`${copy} is not a healthy copy (${(error as Error).message}). Nothing was changed.`)
  }
  const file = databaseFile(dataDir)
  if (existsSync(file)) takeAlone(file)
  const draft = `${file}.restoring`
  makeFolder(dataDir)
  copyFileSync(copy, draft)
  // A copy takes over the mode of what it is made from.
  keepPrivate(draft)
  syncFile(draft)
  const kept = existsSync(file) ? keep(dataDir, file) : undefined
  for (const ending of ['-wal', '-shm']) rmSync(file + ending, { force: true })
  renameSync(draft, file)
  syncFile(dataDir)
  return kept
}

function keep(dataDir: string, file: string): string {
  const kept = join(dataDir, 'backups', backupName('replaced'))
  makeFolder(join(dataDir, 'backups'))
  linkSync(file, kept)
  return kept
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
