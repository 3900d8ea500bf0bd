import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from 'kysely'
import { GroupCommitDriver } from './driver.ts'

/** Tables are made from models at run time, so their columns are only known then. */
export type AnyTables = Record<string, Record<string, unknown>>
export type Database = Kysely<AnyTables>

/** Opens (or makes) the one database file of a data folder. `database.destroy()` closes it. */
export function openDatabase(dataDir: string): Database {
  mkdirSync(dataDir, { recursive: true })
  const file = join(dataDir, 'dossier.db')
  const writer = new Sqlite(file)
  writer.pragma('journal_mode = wal')
  // FULL: an answered write is on disk and survives a power cut.
  writer.pragma('synchronous = full')
  writer.pragma('foreign_keys = on')
  const reader = new Sqlite(file, { readonly: true })
  // SQLite folds the case of a to z only.
  reader.function('dossier_fold', { deterministic: true }, (text) =>
    typeof text === 'string' ? text.toLowerCase() : text,
  )
  const driver = new GroupCommitDriver(reader, writer)
  return new Kysely<AnyTables>({
    dialect: {
      createAdapter: () => new ManyConnections(),
      createDriver: () => driver,
      createIntrospector: (db) => new SqliteIntrospector(db),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    },
  })
}

/** Kysely would serialise all queries of a one-connection dialect; our driver keeps them apart itself. */
class ManyConnections extends SqliteAdapter {
  override get supportsMultipleConnections() {
    return true
  }
}
