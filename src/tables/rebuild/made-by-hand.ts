import { type Database, Refused, type ShadowCopyDialect, type StoredObject } from '../../storage/storage.ts'
import { quote } from '../ddl.ts'
import { execute } from '../execute.ts'
import { readOwnTriggers } from '../triggers.ts'
import { isMarkTrigger } from './change-marks.ts'

/**
 * Drops the views and triggers that an operator created, since they name tables that are about to be dropped. Returns a
 * function that creates them again.
 */
export async function dropOperatorObjects(db: Database, dialect: ShadowCopyDialect): Promise<() => Promise<void>> {
  const ours = (await readOwnTriggers(db)).map(({ name }) => name)
  const all = await dialect.readViewsAndTriggers(db)
  const theirs = all.filter(({ name }) => !ours.includes(name) && !isMarkTrigger(name))
  for (const { type, name } of theirs) await execute(db, `DROP ${type} IF EXISTS ${quote(name.replaceAll('"', '""'))}`)
  return async () => {
    // Views first: triggers may be on them.
    for (const one of theirs.toSorted((a, b) => b.type.localeCompare(a.type))) await createAgain(db, one)
  }
}

/** Creates an operator's object again. Throws `Refused` if it does not fit the changed tables. */
export async function createAgain(db: Database, { type, name, sql: text }: StoredObject): Promise<void> {
  try {
    await execute(db, text)
  } catch (error) {
    const why = (error as Error).message
    throw new Refused([`The ${type} ${name}, which was made by hand, does not fit any more: ${why}. Drop it first.`])
  }
}
