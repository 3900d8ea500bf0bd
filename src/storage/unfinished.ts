import { type Database, DatabaseError } from './storage.ts'

/** Of a database that is being filled: it is not to be served until all is there and compared. */

const NAME = 'unfinished move'

/** Whose move it is; undefined if none is under way. */
async function readMover(db: Database): Promise<string | undefined> {
  const row = await db.selectFrom('dossier_state').select('value').where('name', '=', NAME).executeTakeFirst()
  return row?.value as string | undefined
}

export const isUnfinished = async (db: Database): Promise<boolean> => (await readMover(db)) !== undefined

/** Marks it as one's own, whoever's it was before. */
export async function markUnfinished(db: Database, token: string): Promise<void> {
  await db.deleteFrom('dossier_state').where('name', '=', NAME).execute()
  await db.insertInto('dossier_state').values({ name: NAME, value: token }).execute()
}

/** Somebody may have begun another move into the same place. */
export async function requireMover(db: Database, token: string): Promise<void> {
  if ((await readMover(db)) !== token)
    throw new DatabaseError('Another move into the same place has begun meanwhile. Let that one come to its end.')
}

export async function markFinished(db: Database, token: string): Promise<void> {
  await requireMover(db, token)
  await db.deleteFrom('dossier_state').where('name', '=', NAME).execute()
}
