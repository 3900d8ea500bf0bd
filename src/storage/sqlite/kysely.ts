import { SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from 'kysely'
import { createKysely, type Execute, type KyselyParts } from '../kysely.ts'
import { DIALECT } from './dialect.ts'

/** Without this, Kysely would run all queries of the dialect one after the other. */
class ManyConnections extends SqliteAdapter {
  override get supportsMultipleConnections() {
    return true
  }
}

const KYSELY_PARTS: KyselyParts = {
  createAdapter: () => new ManyConnections(),
  createIntrospector: (db) => new SqliteIntrospector(db),
  createQueryCompiler: () => new SqliteQueryCompiler(),
}

export const createKyselyDatabase = (execute: Execute) => createKysely(KYSELY_PARTS, DIALECT, execute)
