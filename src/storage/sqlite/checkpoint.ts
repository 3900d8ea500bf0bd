import Sqlite from 'better-sqlite3'
import type { Database } from '../storage.ts'

/** Job that copies the write-ahead log into the database as far as no reader is in the way, on its own connection. */
export async function runCheckpoint(_db: Database, { file }: { file: string }): Promise<void> {
  const sqlite = new Sqlite(file, { fileMustExist: true })
  try {
    sqlite.pragma('synchronous = full')
    sqlite.pragma('wal_checkpoint(passive)')
  } finally {
    sqlite.close()
  }
}
