import { PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } from 'kysely'
import { createKysely, type Execute, type KyselyParts } from '../kysely.ts'
import { DIALECT } from './dialect.ts'

const KYSELY_PARTS: KyselyParts = {
  createAdapter: () => new PostgresAdapter(),
  createIntrospector: (db) => new PostgresIntrospector(db),
  createQueryCompiler: () => new PostgresQueryCompiler(),
}

export const createKyselyDatabase = (execute: Execute) => createKysely(KYSELY_PARTS, DIALECT, execute)
