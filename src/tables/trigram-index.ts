import { sql } from 'kysely'
import { type Model, tableName } from '../model/model.ts'
import { type Database, defineJob, type TableDialect, type TrigramIndexDialect } from '../storage/storage.ts'
import { boundedName } from './ddl.ts'
import { execute } from './execute.ts'
import { searchDefinition, searchIndexName } from './search-index.ts'

/**
 * The index for text searches where the engine keeps it up to date itself. It is created in the background, while
 * others write. `dossier_tables` has its definition when it is there, as it has that of `search-index.ts`.
 */

const SUFFIX = '__words'

/** Whether an index is a trigram index. `plan.ts` must not drop these, because it does not plan them. */
export const isTrigramIndex = (name: string) => name.endsWith(SUFFIX)

export interface TrigramInput {
  table: string
  columns: string[]
  definition: string
}

export const trigramInput = (model: Model, dialect: TableDialect): TrigramInput => ({
  table: tableName(model),
  columns: model.search,
  definition: searchDefinition(model, dialect),
})

/** Creates the index of a table. Returns the reason if that is not possible here. */
export const CREATE_TRIGRAMS = defineJob<TrigramInput, string | undefined>(
  import.meta.url,
  'createTrigramIndex',
  'no transaction',
)

export async function createTrigramIndex(
  db: Database,
  { table, columns, definition }: TrigramInput,
): Promise<string | undefined> {
  const { ensureExtension, create } = db.dialect.tables.trigramIndex as TrigramIndexDialect
  // Another node may have created it while this one waited for its turn.
  const known = await sql<{ shape: string }>`
    SELECT shape FROM dossier_tables WHERE tbl = ${searchIndexName(table)}`.execute(db)
  if (known.rows[0]?.shape === definition) return undefined
  const missing = await ensureExtension(db)
  if (missing !== undefined) return missing
  for (const text of create(boundedName('', table, SUFFIX), table, columns)) await execute(db, text)
  await sql`
    INSERT INTO dossier_tables (tbl, shape) VALUES (${searchIndexName(table)}, ${definition})
    ON CONFLICT (tbl) DO UPDATE SET shape = excluded.shape`.execute(db)
  return undefined
}
