import { DIALECT as POSTGRES } from './postgres/dialect.ts'
import { inspectPostgres, openPostgres } from './postgres/engine.ts'
import { hasDatabase as hasFile, requireDatabase as requireFile } from './sqlite/connections.ts'
import { DIALECT as SQLITE } from './sqlite/dialect.ts'
import { inspect as inspectFile, openStorage as openFile } from './sqlite/engine.ts'
import { type Database, DatabaseError, type Dialect, type Storage, type StorageEvents } from './storage.ts'
import { isUnfinished } from './unfinished.ts'

export { backupDatabase } from './sqlite/backup.ts'
export { restoreDatabase } from './sqlite/restore.ts'

/** The one place that says which engine there is: a database elsewhere if one is named, else a file in the data folder. */
export interface Place {
  DATA_DIR: string
  DATABASE_URL?: string | undefined
}

/** Opens a database; one that a move has not finished is refused. */
export async function openStorage(place: Place, events?: StorageEvents): Promise<Storage> {
  const storage = await openAny(place, events)
  if (!(await isUnfinished(storage.db))) return storage
  await storage.close()
  throw new DatabaseError(
    'A move into this database was not finished: only a part of the records is there. Run npm run move again from where they are; it begins anew.',
  )
}

/** Opens a database whatever state it is in. */
export const openAny = ({ DATA_DIR, DATABASE_URL }: Place, events?: StorageEvents): Promise<Storage> =>
  DATABASE_URL === undefined ? openFile(DATA_DIR, events) : openPostgres(DATABASE_URL, events)

/** Opens a database that exists to look at it, and closes it again: nothing can be changed. */
export const inspect = <Result>(place: Place, look: (db: Database) => Promise<Result>): Promise<Result> =>
  place.DATABASE_URL === undefined ? inspectFile(place.DATA_DIR, look) : inspectPostgres(place.DATABASE_URL, look)

/** What is elsewhere is there, or cannot be opened. */
export const hasDatabase = ({ DATA_DIR, DATABASE_URL }: Place): boolean =>
  DATABASE_URL !== undefined || hasFile(DATA_DIR)

/** The database has to be there: a wrong setting must not make a new one. */
export function requireDatabase({ DATA_DIR, DATABASE_URL }: Place, orElse = ''): void {
  if (DATABASE_URL === undefined) requireFile(DATA_DIR, orElse)
}

export const dialectOf = ({ DATABASE_URL }: Place): Dialect => (DATABASE_URL === undefined ? SQLITE : POSTGRES)

/** The file of an embedded database, for what is done to it as a whole. */
export function requireFileOf({ DATA_DIR, DATABASE_URL }: Place, orElse = ''): string {
  if (DATABASE_URL === undefined) return requireFile(DATA_DIR, orElse)
  throw new DatabaseError('Backups of a database elsewhere are made there, with pg_dump and pg_restore.')
}
