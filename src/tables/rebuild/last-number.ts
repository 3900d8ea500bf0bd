import type { Database } from '../../storage/storage.ts'
import { execute } from '../execute.ts'

/**
 * Runs `replace`, which puts another table in the place of this one, and keeps the highest id ever assigned: no id is
 * used again, even if its record is deleted.
 */
export async function keepLastNumber(db: Database, table: string, replace: () => Promise<void>): Promise<void> {
  const { lastNumber, setLastNumber } = db.dialect.tables
  const { rows } = await execute(db, lastNumber(table, 'id'))
  await replace()
  const { last } = rows[0] as { last: number }
  for (const text of setLastNumber(table, 'id', last)) await execute(db, text)
}
