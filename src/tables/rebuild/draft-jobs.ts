import { sql } from 'kysely'
import type { Model } from '../../model/model.ts'
import { type Database, Refused, type TableState } from '../../storage/storage.ts'
import { hasIndexName, modelIndexes, quote } from '../ddl.ts'
import { execute } from '../execute.ts'
import { describeDuplicates } from '../verify.ts'
import { draftName } from './change-marks.ts'
import { type Draft, discardDrafts, type FillResult, fillDraft, requireEqualCounts, staleDraftFault } from './draft.ts'
import { rebuilderFor } from './strategies.ts'

/** Jobs that copy tables beside the ones that are served. Each is a short transaction, except `refuseDuplicates`. */

/** Begins the drafts of all tables that have to be copied. */
export const beginDrafts = (db: Database, { models, token }: { models: Model[]; token: string }): Promise<Draft[]> =>
  rebuilderFor(db.dialect.tables).begin(db, models, token)

export type Portion = FillResult & { milliseconds: number }

/** Copies up to `rows` more records into a draft. */
export async function fillPortion(db: Database, { draft, rows }: { draft: Draft; rows: number }): Promise<Portion> {
  const start = performance.now()
  const filled = await fillDraft(db, draft, rows)
  if (filled.isFull) await rebuilderFor(db.dialect.tables).onFilled(db, draft)
  return { ...filled, milliseconds: performance.now() - start }
}

/** Throws a `Refused` that names records with duplicate values. Copies all records at once, which is rarely needed. */
export async function refuseDuplicates(db: Database, drafts: Draft[]): Promise<void> {
  const reasons: string[] = []
  for (const draft of drafts) reasons.push(...(await describeDraftDuplicates(db, draft)))
  throw reasons.length > 0 ? new Refused(reasons) : staleDraftFault('What was not unique is so again.')
}

async function describeDraftDuplicates(db: Database, draft: Draft): Promise<string[]> {
  const { model } = draft
  const table = draftName(model)
  const uniques = modelIndexes(model, db.dialect.tables).filter(({ unique }) => unique)
  const { indexes } = (await db.dialect.tables.readTable(db, table)) as TableState
  for (const { name } of indexes)
    if (uniques.some((index) => hasIndexName(index, name))) await execute(db, `DROP INDEX ${quote(name)}`)
  await fillDraft(db, draft, Number.MAX_SAFE_INTEGER)
  await requireEqualCounts(db, draft)
  const reasons: string[] = []
  for (const { fields } of uniques) reasons.push(...(await describeDuplicates(db, model, fields, table)))
  return reasons
}

/** Drops all drafts if `token` still owns them; another process may have taken over. */
export async function discardOwn(db: Database, token: string): Promise<void> {
  const { rows } = await sql`SELECT 1 FROM dossier_drafts WHERE token = ${token} LIMIT 1`.execute(db)
  if (rows.length > 0) await discardDrafts(db)
}
