import { type Model, tableName } from '../../model/model.ts'
import type { Database, ShadowCopyDialect } from '../../storage/storage.ts'
import { quote } from '../ddl.ts'
import { execute } from '../execute.ts'

/** What a draft refers to until it takes its place: nothing that is there, so that it holds up nobody's delete. */
export const parentName = (table: string) => `dossier_parent__${table}`

/**
 * Makes drafts that took their places refer to the real tables instead of `parentName`. An ordinary rename makes foreign
 * keys follow: the real table steps aside without them, an empty table of the draft's parent name takes the real name and
 * the foreign keys with it, and is then replaced by the real one.
 */
export async function nameParents(db: Database, models: Model[], { renameOnly }: ShadowCopyDialect): Promise<void> {
  const targets = models.flatMap(({ fields }) => fields.flatMap(({ reference }) => reference?.model ?? []))
  for (const table of new Set(targets.map((name) => tableName({ name })))) {
    const aside = `dossier_aside__${table}`
    const parent = quote(parentName(table))
    const statements = [
      ...renameOnly(table, aside),
      `CREATE TABLE ${parent} ("id" INTEGER PRIMARY KEY)`,
      `ALTER TABLE ${parent} RENAME TO ${quote(table)}`,
      `DROP TABLE ${quote(table)}`,
      ...renameOnly(aside, table),
    ]
    for (const text of statements) await execute(db, text)
  }
}
