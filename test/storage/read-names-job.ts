import type { Database } from '../../src/storage/storage.ts'

/** A job that reads names. */
export async function run(db: Database, table: string): Promise<unknown[]> {
  const rows = await db.selectFrom(table).select('name').orderBy('id').execute()
  return rows.map(({ name }) => name)
}
