import { randomUUID } from 'node:crypto'
import { renameSync, rmSync } from 'node:fs'
import Sqlite from 'better-sqlite3'
import { type Database, DRAFT_PREFIX, type Progress, StorageFault } from '../storage.ts'
import { createPrivateFile } from './file-modes.ts'

/** Pages that are copied at a time, which takes a few milliseconds; other work of the thread runs in between. */
const PAGES = 500

/**
 * Makes a consistent copy of a database in use. One read transaction spans the whole copy, so that it neither blocks
 * writers nor starts over when they write. The copy is checked before it gets its name, so `target` is always complete.
 */
export async function backupDatabase(file: string, target: string, onProgress?: (progress: Progress) => void) {
  const temporary = `${target}.${randomUUID()}.part`
  createPrivateFile(temporary)
  const source = new Sqlite(file, { readonly: true, fileMustExist: true })
  try {
    source.exec('BEGIN')
    source.prepare('SELECT count(*) FROM sqlite_schema').get()
    await source.backup(temporary, {
      progress: ({ totalPages, remainingPages }) => {
        onProgress?.({ done: totalPages - remainingPages, of: totalPages })
        return PAGES
      },
    })
    checkCopy(temporary)
    renameSync(temporary, target)
  } finally {
    source.close()
    for (const ending of ['', '-wal', '-shm', '-journal']) rmSync(temporary + ending, { force: true })
  }
}

/** `backupDatabase` as a job, for a thread of its own: the check of a large copy takes seconds. */
export function runBackup(
  _db: Database,
  { file, target }: { file: string; target: string },
  onProgress: (progress: Progress) => void,
): Promise<void> {
  return backupDatabase(file, target, onProgress)
}

const damagedFault = (message: string) => new StorageFault('damaged', message)

/** Throws if a file is not a complete and intact database of Dossier. */
export function checkCopy(file: string): void {
  const copy = new Sqlite(file, { readonly: true, fileMustExist: true })
  try {
    // An empty file is an intact SQLite database too, and so is the database of any other program.
    const users = copy.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'dossier_users'").get()
    if (!users) throw new Error(`${file} is no database of Dossier`)
    const found = copy.pragma('integrity_check', { simple: true })
    if (found !== 'ok') throw damagedFault(`${file} is damaged: ${found}`)
    const references = copy.pragma('foreign_key_check') as { table: string }[]
    const dangling = references.filter(({ table }) => !table.startsWith(DRAFT_PREFIX))
    if (dangling.length > 0) throw damagedFault(`${file} is damaged: ${dangling.length} references lead nowhere.`)
  } finally {
    copy.close()
  }
}
