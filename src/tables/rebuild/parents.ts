import { type Model, tableName } from '../../model/model.ts'
import type { Database } from '../../storage/storage.ts'
import { quote } from '../ddl.ts'
import { execute } from '../execute.ts'

/** What a draft refers to until it takes its place: nothing that is there, so that it holds up nobody's delete. */
export const parentName = (table: string) => `dossier_parent__${table}`

/**
 * Lets tables refer to what they are meant to refer to. Renaming a table makes all that refer to it follow, unless SQLite
 * is told to rename as it did long ago: so the real one steps aside, another one takes its name and all who follow, and the
 * real one comes back.
 */
export async function nameParents(db: Database, models: Model[]): Promise<void> {
  const targets = models.flatMap(({ fields }) => fields.flatMap(({ reference }) => reference?.model ?? []))
  for (const table of new Set(targets.map((name) => tableName({ name })))) {
    const [name, aside, parent] = [table, `dossier_aside__${table}`, parentName(table)].map(quote)
    await execute(db, 'PRAGMA legacy_alter_table = on')
    await execute(db, `ALTER TABLE ${name} RENAME TO ${aside}`)
    await execute(db, 'PRAGMA legacy_alter_table = off')
    await execute(db, `CREATE TABLE ${parent} ("id" INTEGER PRIMARY KEY)`)
    await execute(db, `ALTER TABLE ${parent} RENAME TO ${name}`)
    await execute(db, `DROP TABLE ${name}`)
    await execute(db, 'PRAGMA legacy_alter_table = on')
    await execute(db, `ALTER TABLE ${aside} RENAME TO ${name}`)
    await execute(db, 'PRAGMA legacy_alter_table = off')
  }
}
