import { CompiledQuery } from 'kysely'
import type { Database } from '../storage/storage.ts'

/** Executes SQL text with `?` placeholders. Most statements that change tables cannot have parameters. */
export const execute = (db: Database, text: string, parameters: unknown[] = []) =>
  db.executeQuery(CompiledQuery.raw(text, parameters))
