import { PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } from 'kysely'
import { type Execute, kyselyWith, type Speech } from '../kysely.ts'
import { DIALECT } from './dialect.ts'

const SPEECH: Speech = {
  createAdapter: () => new PostgresAdapter(),
  createIntrospector: (db) => new PostgresIntrospector(db),
  createQueryCompiler: () => new PostgresQueryCompiler(),
}

export const kyselyOver = (execute: Execute) => kyselyWith(SPEECH, DIALECT, execute)
