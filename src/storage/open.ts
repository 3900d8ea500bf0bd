import { DIALECT as POSTGRES } from './postgres/dialect.ts'
import type { ThreadReadsStart as PostgresReadsStart } from './postgres/thread-reads.ts'
import { hasDatabase as hasFile, requireDatabase as requireDatabaseFile } from './sqlite/connections.ts'
import { DIALECT as SQLITE } from './sqlite/dialect.ts'
import * as sqlite from './sqlite/engine.ts'
import { openThreadReads as openSqliteReads, type ThreadReadsStart as SqliteReadsStart } from './sqlite/thread-reads.ts'
import { type Database, DatabaseError, type Dialect, type Storage, type StorageEvents } from './storage.ts'
import type { ThreadReads } from './thread-reads.ts'
import { isUnfinished } from './unfinished.ts'

export { backupDatabase } from './sqlite/backup.ts'
export { restoreDatabase } from './sqlite/restore.ts'

/** A database: at `DATABASE_URL` if that is set, else the SQLite file in the data folder. */
export interface DatabaseLocation {
  DATA_DIR: string
  DATABASE_URL?: string | undefined
}

interface Engine {
  readonly dialect: Dialect
  open(events?: StorageEvents, servingThreads?: number): Promise<Storage>
  inspectDatabase<Result>(look: (db: Database) => Promise<Result>): Promise<Result>
  exists(): boolean
  /** Path of the database file; throws a `DatabaseError` if there is none, or if the engine keeps no file here. */
  requireFile(hint: string): string
  /** Throws a `DatabaseError` if there is no database. */
  require(hint: string): void
  /** Throws a `DatabaseError` if a service or a command uses the database. */
  requireStopped(): Promise<void>
}

/** Loaded only if it is used: the driver alone would take 46 of the 585 ms that loading the service takes. */
const loadPostgres = () => import('./postgres/engine.ts')

/** The only place that chooses an engine. */
const engineAt = ({ DATA_DIR, DATABASE_URL }: DatabaseLocation): Engine =>
  DATABASE_URL === undefined
    ? {
        dialect: SQLITE,
        open: (events) => sqlite.openStorage(DATA_DIR, events),
        inspectDatabase: (look) => sqlite.inspectDatabase(DATA_DIR, look),
        exists: () => hasFile(DATA_DIR),
        requireFile: (hint) => requireDatabaseFile(DATA_DIR, hint),
        require: (hint) => void requireDatabaseFile(DATA_DIR, hint),
        requireStopped: () => sqlite.requireStopped(DATA_DIR),
      }
    : {
        dialect: POSTGRES,
        open: async (events, threads) => (await loadPostgres()).openStorage(DATABASE_URL, events, threads),
        inspectDatabase: async (look) => (await loadPostgres()).inspectDatabase(DATABASE_URL, look),
        // A server's database is assumed to exist; opening it fails with a clear message if it does not.
        exists: () => true,
        requireFile: () => {
          throw new DatabaseError('Backups of a database elsewhere are made there, with pg_dump and pg_restore.')
        },
        require: () => {},
        requireStopped: async () => (await loadPostgres()).requireStopped(DATABASE_URL),
      }

/** Opens the reads of a serving thread from the main thread's `Storage.threadReadsStart`. */
export async function openThreadReads(start: SqliteReadsStart | PostgresReadsStart): Promise<ThreadReads> {
  if ('file' in start) return openSqliteReads(start)
  return (await import('./postgres/thread-reads.ts')).openThreadReads(start)
}

/** Opens a database. One that `npm run move` has not finished filling is refused. */
export async function openStorage(
  location: DatabaseLocation,
  events?: StorageEvents,
  servingThreads?: number,
): Promise<Storage> {
  const storage = await engineAt(location).open(events, servingThreads)
  if (!(await isUnfinished(storage.db))) return storage
  await storage.close()
  throw new DatabaseError(
    'A move into this database was not finished: only a part of the records is there. Run npm run move again from where they are; it starts over.',
  )
}

/** Opens a database, finished or not. */
export const openEvenUnfinished = (location: DatabaseLocation, events?: StorageEvents): Promise<Storage> =>
  engineAt(location).open(events)

/** Opens an existing database read-only for one look, and closes it again. */
export const inspectDatabase = <Result>(
  location: DatabaseLocation,
  look: (db: Database) => Promise<Result>,
): Promise<Result> => engineAt(location).inspectDatabase(look)

export const hasDatabase = (location: DatabaseLocation): boolean => engineAt(location).exists()

/** Throws unless the database exists: a wrong setting must not create a new one. `hint` ends the message. */
export const requireDatabase = (location: DatabaseLocation, hint = ''): void => engineAt(location).require(hint)

/** Throws if a service or a command uses the database: what it writes meanwhile would be lost. */
export const requireStopped = (location: DatabaseLocation): Promise<void> => engineAt(location).requireStopped()

export const dialectFor = (location: DatabaseLocation): Dialect => engineAt(location).dialect

/** Path of the embedded database's file, for backups and restores. */
export const requireFile = (location: DatabaseLocation, hint = ''): string => engineAt(location).requireFile(hint)
