import { SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from 'kysely'
import { type Execute, kyselyWith, type Speech } from '../kysely.ts'
import { DIALECT } from './dialect.ts'

/** Kysely would serialise all queries of a one-connection dialect. */
class ManyConnections extends SqliteAdapter {
  override get supportsMultipleConnections() {
    return true
  }
}

const SPEECH: Speech = {
  createAdapter: () => new ManyConnections(),
  createIntrospector: (db) => new SqliteIntrospector(db),
  createQueryCompiler: () => new SqliteQueryCompiler(),
}

export const kyselyOver = (execute: Execute) => kyselyWith(SPEECH, DIALECT, execute)
