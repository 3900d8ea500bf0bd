import { existsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import Sqlite from 'better-sqlite3'
import { dataFolder } from '../../data-folder.ts'
import { DatabaseError } from '../storage.ts'
import { createPrivateFile, restrictDataFolder } from './file-modes.ts'
import { defineLike } from './like.ts'
import { defineOrderKey } from './order-key.ts'
import { migrateSchema, SCHEMA_VERSION } from './schema.ts'

export const databaseFile = (dataDir: string) => dataFolder(dataDir).database

export const hasDatabase = (dataDir: string) => existsSync(databaseFile(dataDir))

/** Path of a data folder's database. Throws if it does not exist: a wrong setting must not create a new one. */
export function requireDatabase(dataDir: string, hint = ''): string {
  const file = databaseFile(dataDir)
  if (existsSync(file)) return file
  throw new DatabaseError(
    `There is no database in ${resolve(dataDir)}. Set DATA_DIR to the service's data folder${hint}.`,
  )
}

/** Opens the only connection that writes. Creates the file if there is none, and migrates the service's own tables. */
export function openWriter(file: string): Sqlite.Database {
  createPrivateFile(file)
  restrictDataFolder(dirname(file))
  const sqlite = new Sqlite(file)
  if ((sqlite.pragma('user_version', { simple: true }) as number) > SCHEMA_VERSION) throw tooNew(file)
  sqlite.pragma('journal_mode = wal')
  // FULL: a write that was answered is on disk and survives a power cut.
  sqlite.pragma('synchronous = full')
  sqlite.pragma('foreign_keys = on')
  migrateSchema(sqlite)
  defineLike(sqlite)
  defineOrderKey(sqlite)
  return sqlite
}

/** Opens a read-only connection. */
export function openReader(file: string): Sqlite.Database {
  const sqlite = new Sqlite(file, { readonly: true, fileMustExist: true })
  // Placeholders, so that any connection can EXPLAIN a search. `Search` replaces them where searches are executed.
  for (const name of ['dossier_alive', 'dossier_name_rank']) sqlite.function(name, { varargs: true }, String)
  defineLike(sqlite)
  defineOrderKey(sqlite)
  return sqlite
}

export const tooNew = (file: string) =>
  new DatabaseError(
    `${file} was written by a newer version of Dossier. Start that version, or restore an earlier backup.`,
  )
