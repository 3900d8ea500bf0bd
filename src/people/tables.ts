import { sql } from 'kysely'
import type { Database } from '../database/database.ts'

/** The service's own tables. Moments are milliseconds since 1970. No model's table starts with `dossier_`. */
export async function createPeopleTables(db: Database): Promise<void> {
  await sql`
    CREATE TABLE IF NOT EXISTS dossier_users (
      username TEXT PRIMARY KEY COLLATE NOCASE,
      password TEXT NOT NULL,
      roles TEXT NOT NULL,
      enabled INTEGER NOT NULL DEFAULT 1,
      createdOn INTEGER NOT NULL,
      lastLogin INTEGER
    ) WITHOUT ROWID`.execute(db)
  // A session's id is the hash of the cookie's value: whoever reads the database cannot use it to log in.
  await sql`
    CREATE TABLE IF NOT EXISTS dossier_sessions (
      id TEXT PRIMARY KEY,
      username TEXT NOT NULL COLLATE NOCASE REFERENCES dossier_users ON DELETE CASCADE,
      createdOn INTEGER NOT NULL,
      lastSeen INTEGER NOT NULL,
      address TEXT NOT NULL
    ) WITHOUT ROWID`.execute(db)
  await sql`CREATE INDEX IF NOT EXISTS dossier_sessions_username ON dossier_sessions (username)`.execute(db)
  await sql`
    CREATE TABLE IF NOT EXISTS dossier_attempts (
      id INTEGER PRIMARY KEY,
      username TEXT NOT NULL,
      address TEXT NOT NULL,
      at INTEGER NOT NULL
    )`.execute(db)
  await sql`CREATE INDEX IF NOT EXISTS dossier_attempts_who ON dossier_attempts (username, address, at)`.execute(db)
}
