import { sql } from 'kysely'
import { type Database, Refused } from '../../src/storage/storage.ts'

/** A job that writes a name and returns it, or fails after it has written. */
export async function run(db: Database, name: string): Promise<unknown[]> {
  const { rows } = await sql<{ name: string }>`INSERT INTO counter (name) VALUES (${name}) RETURNING name`.execute(db)
  // Something that takes another turn of the event loop: nobody may get in between.
  await new Promise(setImmediate)
  if (name === 'refused') throw new Refused(['it cannot be', 'nor that'])
  if (name === 'broken') throw new Error('out of the blue')
  return rows.map((row) => row.name)
}

/** A look that takes its time. */
export async function slow(): Promise<string> {
  await new Promise((resolve) => setTimeout(resolve, 300))
  return 'done'
}
