import { CompiledQuery } from 'kysely'
import type { Database } from '../storage/storage.ts'

/** Carries out SQL that is a text already: most of what changes tables cannot have parameters. */
export const execute = (db: Database, text: string, parameters: unknown[] = []) =>
  db.executeQuery(CompiledQuery.raw(text, parameters))
