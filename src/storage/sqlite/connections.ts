import { existsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import Sqlite from 'better-sqlite3'
import { dataFolder } from '../../data-folder.ts'
import { DatabaseError } from '../storage.ts'
import { makePrivate, restrictDataFolder } from './file-modes.ts'
import { migrateSchema, SCHEMA_VERSION } from './schema.ts'

export const databaseFile = (dataDir: string) => dataFolder(dataDir).database

export const hasDatabase = (dataDir: string) => existsSync(databaseFile(dataDir))

/** The database of a folder, which has to be there: a wrong setting must not make a new one. */
export function requireDatabase(dataDir: string, orElse = ''): string {
  const file = databaseFile(dataDir)
  if (existsSync(file)) return file
  throw new DatabaseError(
    `There is no database in ${resolve(dataDir)}. Set DATA_DIR to the service's data folder${orElse}.`,
  )
}

/** The one connection that writes. It makes the file if there is none, and brings the service's own tables up to date. */
export function openWriter(file: string): Sqlite.Database {
  makePrivate(file)
  restrictDataFolder(dirname(file))
  const sqlite = new Sqlite(file)
  if ((sqlite.pragma('user_version', { simple: true }) as number) > SCHEMA_VERSION) throw tooNew(file)
  sqlite.pragma('journal_mode = wal')
  // FULL: an answered write is on disk and survives a power cut.
  sqlite.pragma('synchronous = full')
  sqlite.pragma('foreign_keys = on')
  migrateSchema(sqlite)
  return sqlite
}

/** A connection that cannot change anything. */
export function openReader(file: string): Sqlite.Database {
  const sqlite = new Sqlite(file, { readonly: true, fileMustExist: true })
  // Known by name, so that the plan of a search can be looked at anywhere; only the search threads run one.
  for (const name of ['dossier_alive', 'dossier_like']) sqlite.function(name, { varargs: true }, String)
  return sqlite
}

export const tooNew = (file: string) =>
  new DatabaseError(
    `${file} was written by a newer version of Dossier. Start that version, or restore an earlier backup.`,
  )
