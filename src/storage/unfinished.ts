import { type Database, DatabaseError } from './storage.ts'

/** A mark on a database that `npm run move` is filling. It must not be served until all data is copied and compared. */

const NAME = 'unfinished move'

/** Token of the move in progress; undefined if there is none. */
async function readMover(db: Database): Promise<string | undefined> {
  const row = await db.selectFrom('dossier_state').select('value').where('name', '=', NAME).executeTakeFirst()
  return row?.value as string | undefined
}

export const isUnfinished = async (db: Database): Promise<boolean> => (await readMover(db)) !== undefined

/** Sets the mark with the token of this move. It replaces the mark of any other move. */
export async function markUnfinished(db: Database, token: string): Promise<void> {
  await db.deleteFrom('dossier_state').where('name', '=', NAME).execute()
  await db.insertInto('dossier_state').values({ name: NAME, value: token }).execute()
}

/** Throws if another move into this database has begun since. */
export async function requireMover(db: Database, token: string): Promise<void> {
  if ((await readMover(db)) !== token)
    throw new DatabaseError('Another move into the same place has begun meanwhile. Let that one come to its end.')
}

export async function markFinished(db: Database, token: string): Promise<void> {
  await requireMover(db, token)
  await db.deleteFrom('dossier_state').where('name', '=', NAME).execute()
}
