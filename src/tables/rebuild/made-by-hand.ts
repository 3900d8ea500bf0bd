import { sql } from 'kysely'
import { type Database, Refused } from '../../storage/storage.ts'
import { quote } from '../ddl.ts'
import { execute } from '../execute.ts'
import { readTriggers } from '../triggers.ts'

interface Made {
  type: string
  name: string
  sql: string
}

/** Views and triggers that somebody made name tables that are about to go: they go first, and are made again at the end. */
export async function setAside(db: Database): Promise<() => Promise<void>> {
  const ours = (await readTriggers(db)).map(({ name }) => name)
  const { rows } = await sql<Made>`
    SELECT type, name, sql FROM sqlite_schema WHERE type IN ('view', 'trigger') AND name NOT GLOB '*__draft'`.execute(
    db,
  )
  const theirs = rows.filter(({ name }) => !ours.includes(name))
  for (const { type, name } of theirs) await execute(db, `DROP ${type} IF EXISTS ${quote(name.replaceAll('"', '""'))}`)
  return async () => {
    // Triggers may stand on views.
    for (const one of theirs.toSorted((a, b) => b.type.localeCompare(a.type))) await makeAgain(db, one)
  }
}

/** What was made by hand has to fit what the table has become. */
export async function makeAgain(db: Database, { type, name, sql: text }: Made): Promise<void> {
  try {
    await execute(db, text)
  } catch (error) {
    const why = (error as Error).message
    throw new Refused([`The ${type} ${name}, which was made by hand, does not fit any more: ${why}. Drop it first.`])
  }
}
