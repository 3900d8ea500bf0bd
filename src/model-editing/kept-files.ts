import { randomUUID } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { Failure, unavailableFailure } from '../errors.ts'
import { writeOrExplain } from '../people/write-or-explain.ts'
import { type Database, isFault, type Row, type Step, type Storage, type WriteStorage } from '../storage/storage.ts'

const FILES = 'dossier_model_files'
/** Earlier files that are kept of each model. */
const MAX_EARLIER = 50

/** A file of a model that is not in the folder: a draft, of which there is one, or an earlier one. */
export interface KeptFile {
  id: number
  by: string
  at: string
}

export interface KeptFileContent extends KeptFile {
  schema: unknown
}

const toKept = ({ id, author, at }: Row): KeptFile => ({
  id: id as number,
  by: author as string,
  at: new Date(at as number).toISOString(),
})

/** The drafts, by model. */
export async function listDrafts(db: Database): Promise<Map<string, KeptFile>> {
  const rows = await db.selectFrom(FILES).select(['id', 'model', 'author', 'at']).where('kind', '=', 'draft').execute()
  return new Map(rows.map((row) => [row.model as string, toKept(row)]))
}

export async function readDraft(db: Database, model: string): Promise<KeptFileContent | undefined> {
  const row = await db
    .selectFrom(FILES)
    .selectAll()
    .where('model', '=', model)
    .where('kind', '=', 'draft')
    .executeTakeFirst()
  return row && { ...toKept(row), schema: JSON.parse(row.content as string) }
}

/** The earlier files of a model, the newest first. */
export async function listEarlier(db: Database, model: string): Promise<KeptFile[]> {
  const rows = await db
    .selectFrom(FILES)
    .select(['id', 'author', 'at'])
    .where('model', '=', model)
    .where('kind', '=', 'earlier')
    .orderBy('id', 'desc')
    .limit(MAX_EARLIER)
    .execute()
  return rows.map(toKept)
}

export async function readEarlier(db: Database, model: string, id: number): Promise<KeptFileContent> {
  const row = await db.selectFrom(FILES).selectAll().where('model', '=', model).where('id', '=', id).executeTakeFirst()
  if (row?.kind !== 'earlier') throw new Failure('RECORD_NOT_FOUND', 'There is no such earlier file.')
  return { ...toKept(row), schema: JSON.parse(row.content as string) }
}

/** Keeps a draft in place of the one that was read, or of none. */
export async function keepDraft(
  storage: WriteStorage,
  { model, schema, replaces, by }: { model: string; schema: object; replaces: number | null; by: string },
): Promise<KeptFile> {
  const insert: Step = {
    sql: `INSERT INTO ${FILES} (model, kind, content, author, at)
      SELECT ?, 'draft', ?, username, ? FROM dossier_users
      WHERE username = ? AND NOT EXISTS (SELECT 1 FROM ${FILES} WHERE model = ? AND kind = 'draft')
      RETURNING id, author, at`,
    parameters: [model, JSON.stringify(schema), Date.now(), by, model],
    must: true,
  }
  const steps = replaces === null ? [insert] : [removeDraft(model, replaces), insert]
  try {
    return toKept((await storage.write({ steps })).at(-1)?.[0] as Row)
  } catch (error) {
    throw isFault(error, 'no-row') || isFault(error, 'taken') ? await otherDraft(storage.db, model) : error
  }
}

export async function discardDraft(storage: WriteStorage, model: string, id: number): Promise<number> {
  await writeOrExplain(
    () => storage.write({ steps: [removeDraft(model, id)] }),
    () => otherDraft(storage.db, model),
  )
  return id
}

const removeDraft = (model: string, id: number): Step => ({
  sql: `DELETE FROM ${FILES} WHERE model = ? AND kind = 'draft' AND id = ? RETURNING id`,
  parameters: [model, id],
  must: true,
})

async function otherDraft(db: Database, model: string): Promise<Failure> {
  const known = await readDraft(db, model)
  if (!known) return new Failure('RECORD_NOT_FOUND', `There is no draft of ${model} any more.`)
  return new Failure('VERSION_CONFLICT', `${known.by} has kept another draft of ${model} meanwhile.`, { data: [known] })
}

/** Keeps the text of a file that is about to be replaced. */
export async function keepEarlier(storage: WriteStorage, model: string, text: string, by: string): Promise<void> {
  const steps: Step[] = [
    {
      sql: `INSERT INTO ${FILES} (model, kind, content, author, at) VALUES (?, 'earlier', ?, ?, ?)`,
      parameters: [model, text, by, Date.now()],
    },
    {
      sql: `DELETE FROM ${FILES} WHERE model = ? AND kind = 'earlier' AND id NOT IN
        (SELECT id FROM ${FILES} WHERE model = ? AND kind = 'earlier' ORDER BY id DESC LIMIT ?)`,
      parameters: [model, model, MAX_EARLIER],
    },
  ]
  await storage.write({ steps })
}

/** The draft of a user has done its work when the model is saved; that of somebody else stays. */
const clearDraft = (model: string, by: string): Step => ({
  sql: `DELETE FROM ${FILES} WHERE model = ? AND kind = 'draft' AND author = ?`,
  parameters: [model, by],
})

/** How long a save may hold the folder: one that takes longer has died. */
const LOCK_MS = 60_000
const LOCK_TRIES = 20
const LOCK_PAUSE_MS = 250
/** Stands for the whole folder, where others have the name of a model. */
const FOLDER = ''

/**
 * Saves a model while no other node writes to a models folder: it may be the same one. `writing` is the
 * storage through which the end of the lock is written; it may add the request's idempotency key to that unit.
 */
export async function saveLocked<Result>(
  storage: WriteStorage,
  { model, by, writing }: { model: string; by: string; writing: Pick<Storage, 'write'> },
  save: () => Promise<Result>,
): Promise<Result> {
  const lock = randomUUID()
  const unlock: Step = {
    sql: `DELETE FROM ${FILES} WHERE model = ? AND kind = 'lock' AND content = ? RETURNING id`,
    parameters: [FOLDER, lock],
  }
  await takeLock(storage, lock, by)
  try {
    const result = await save()
    await writing.write({ steps: [clearDraft(model, by), unlock] })
    return result
  } catch (error) {
    await storage.write({ steps: [unlock] })
    throw error
  }
}

/** Waits for the lock. A lock whose holder has died expires after `LOCK_MS`. */
async function takeLock(storage: WriteStorage, lock: string, by: string, tries = LOCK_TRIES): Promise<void> {
  const now = Date.now()
  const steps: Step[] = [
    { sql: `DELETE FROM ${FILES} WHERE model = ? AND kind = 'lock' AND at < ?`, parameters: [FOLDER, now - LOCK_MS] },
    {
      sql: `INSERT INTO ${FILES} (model, kind, content, author, at) VALUES (?, 'lock', ?, ?, ?)`,
      parameters: [FOLDER, lock, by, now],
    },
  ]
  try {
    await storage.write({ steps })
  } catch (error) {
    if (!isFault(error, 'taken')) throw error
    if (tries === 1) throw unavailableFailure('Somebody else is saving a model right now. Try again.', 5)
    await setTimeout(LOCK_PAUSE_MS)
    await takeLock(storage, lock, by, tries - 1)
  }
}
