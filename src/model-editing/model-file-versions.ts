import { Failure } from '../errors.ts'
import { type Database, isFault, type Row, type Step, type WriteStorage } from '../storage/storage.ts'
import { writeOrExplain } from '../storage/write-or-explain.ts'

export const FILES = 'dossier_model_files'
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
    mustReturnRow: true,
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
  mustReturnRow: true,
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
export const clearDraft = (model: string, by: string): Step => ({
  sql: `DELETE FROM ${FILES} WHERE model = ? AND kind = 'draft' AND author = ?`,
  parameters: [model, by],
})
