import { SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from 'kysely'
import { createKysely, type Execute, type KyselyParts } from '../kysely.ts'
import { DIALECT } from './dialect.ts'

/** Kysely would serialise all queries of a one-connection dialect. */
class ManyConnections extends SqliteAdapter {
  override get supportsMultipleConnections() {
    return true
  }
}

const SPEECH: KyselyParts = {
  createAdapter: () => new ManyConnections(),
  createIntrospector: (db) => new SqliteIntrospector(db),
  createQueryCompiler: () => new SqliteQueryCompiler(),
}

export const createDatabase = (execute: Execute) => createKysely(SPEECH, DIALECT, execute)
