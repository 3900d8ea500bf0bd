import type { Database } from '../../src/storage/storage.ts'

/** A job that writes a name, and returns all. */
export async function run(db: Database, name: string): Promise<unknown[]> {
  await db.insertInto('counter').values({ name }).execute()
  return (await db.selectFrom('counter').select('name').execute()).map((row) => row.name)
}

/** One that has nothing to tell. */
export async function nothing(): Promise<void> {}
