import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { type CompiledQuery, Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from 'kysely'
import { GroupCommitDriver, type OnCommit } from './driver.ts'
import { explainOpening, tooNew } from './errors.ts'

export { WITHOUT_FOREIGN_KEYS } from './driver.ts'

/** Tables are made from models at run time, so their columns are only known then. */
export type AnyTables = Record<string, Record<string, unknown>>
export type Database = Kysely<AnyTables>

export const databaseFile = (dataDir: string) => join(dataDir, 'dossier.db')

const drivers = new WeakMap<Database, GroupCommitDriver>()

/** Runs a compiled select without Kysely's chain of promises, which costs more than SQLite does. */
export function selectNow<Row>(db: Database, query: CompiledQuery, parameters: readonly unknown[]): Row[] {
  return (drivers.get(db) as GroupCommitDriver).reader.select(query, parameters) as Row[]
}

/** The first row of such a select. */
export function selectOne<Row>(db: Database, query: CompiledQuery, parameters: readonly unknown[]): Row | undefined {
  return (drivers.get(db) as GroupCommitDriver).reader.selectOne(query, parameters) as Row | undefined
}

/** Runs a compiled write in the next group; resolves when it is on disk. */
export async function writeSoon<Row>(
  db: Database,
  query: CompiledQuery,
  parameters: readonly unknown[],
): Promise<Row[]> {
  const { rows } = await (drivers.get(db) as GroupCommitDriver).write(query, parameters)
  return rows as Row[]
}

/** The layout of the service's own tables. A file of a later one is not touched. */
const LAYOUT = 1

/** Opens (or makes) the one database file of a data folder. `database.destroy()` closes it. */
export function openDatabase(dataDir: string, onCommit?: OnCommit): Database {
  const file = databaseFile(dataDir)
  try {
    mkdirSync(dataDir, { recursive: true })
    const writer = new Sqlite(file)
    const layout = writer.pragma('user_version', { simple: true }) as number
    if (layout > LAYOUT) throw tooNew(file)
    writer.pragma('journal_mode = wal')
    // FULL: an answered write is on disk and survives a power cut.
    writer.pragma('synchronous = full')
    writer.pragma('foreign_keys = on')
    if (layout < LAYOUT) writer.pragma(`user_version = ${LAYOUT}`)
    return kyselyOn(openReader(dataDir), writer, onCommit)
  } catch (error) {
    throw explainOpening(file, error)
  }
}

/** Opens a database that exists to look at it, and closes it again: nothing can be changed. */
export async function readDatabase<Result>(dataDir: string, look: (db: Database) => Promise<Result>): Promise<Result> {
  const reader = openReader(dataDir)
  const db = kyselyOn(reader, reader)
  try {
    return await look(db)
  } finally {
    await db.destroy()
  }
}

function openReader(dataDir: string) {
  const reader = new Sqlite(databaseFile(dataDir), { readonly: true })
  // SQLite itself folds the case of a to z only.
  return reader.function('dossier_fold', { deterministic: true }, (text) =>
    typeof text === 'string' ? text.toLowerCase() : text,
  )
}

function kyselyOn(reader: Sqlite.Database, writer: Sqlite.Database, onCommit?: OnCommit): Database {
  const driver = new GroupCommitDriver(reader, writer, onCommit)
  const db = new Kysely<AnyTables>({
    dialect: {
      createAdapter: () => new ManyConnections(),
      createDriver: () => driver,
      createIntrospector: (db) => new SqliteIntrospector(db),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    },
  })
  drivers.set(db, driver)
  return db
}

/** Kysely would serialise all queries of a one-connection dialect; our driver keeps them apart itself. */
class ManyConnections extends SqliteAdapter {
  override get supportsMultipleConnections() {
    return true
  }
}
