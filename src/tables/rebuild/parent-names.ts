import { fieldReference, type Model, tableName } from '../../model/model.ts'
import type { Database, ShadowCopyDialect } from '../../storage/storage.ts'
import { quote } from '../ddl.ts'
import { execute } from '../execute.ts'
import { linkFields } from '../links.ts'

/** Table that a draft's foreign keys refer to until the swap. It does not exist, so the draft blocks no deletes. */
export const placeholderParent = (table: string) => `dossier_parent__${table}`

/**
 * Makes swapped-in drafts refer to the real tables instead of `placeholderParent`. An ordinary rename makes foreign
 * keys follow, `renameOnly` does not. So `renameOnly` moves the real table aside, an empty `placeholderParent` is
 * renamed to the real name, and the foreign keys follow. Then the empty table is dropped, and the real one moves back.
 */
export async function restoreParentNames(
  db: Database,
  models: Model[],
  { renameOnly }: ShadowCopyDialect,
): Promise<void> {
  // A link table refers to the table of its own model, too.
  const targets = models.flatMap((model) => [
    ...model.fields.flatMap((field) => fieldReference(field)?.model ?? []),
    ...(linkFields(model).length > 0 ? [model.name] : []),
  ])
  for (const table of new Set(targets.map((name) => tableName({ name })))) {
    const aside = `dossier_aside__${table}`
    const parent = quote(placeholderParent(table))
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
