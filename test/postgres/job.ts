import { sql } from 'kysely'
import type { Database } from '../../src/storage/storage.ts'

/** A job that writes a name, and returns all. */
export async function run(db: Database, name: string): Promise<unknown[]> {
  await db.insertInto('counter').values({ name }).execute()
  return (await db.selectFrom('counter').select('name').execute()).map((row) => row.name)
}

/** One that has nothing to tell. */
export async function nothing(): Promise<void> {}

/** One that takes longer than a second. */
export async function slow(db: Database): Promise<void> {
  await sql`SELECT pg_sleep(1.2)`.execute(db)
}
