import { sql } from 'kysely'
import { type Model, tableName } from '../../model/model.ts'
import {
  type Database,
  DRAFT_PREFIX,
  Refused,
  type ShadowCopyDialect,
  StorageFault,
  type TableState,
} from '../../storage/storage.ts'
import { execute } from '../execute.ts'
import { planTable, type TablePlan } from '../plan.ts'
import { createUniqueIndex } from '../unique.ts'
import { dropMarkTriggers } from './change-marks.ts'
import {
  beginDraft,
  createDraft,
  type Draft,
  discardDrafts,
  draftOutdated,
  isAnotherProcessCopying,
  isSameDraft,
  swapIn,
} from './draft.ts'
import { dropOperatorObjects } from './made-by-hand.ts'
import { restoreParentNames } from './parent-names.ts'
import type { Rebuilder } from './rebuilder.ts'

/**
 * Fills a new table beside the one that is served, in portions (`draft-jobs.ts`), while triggers mark the records that
 * change meanwhile. The transaction at the end copies only these and puts the new table in the old one's place.
 */
export const createShadowCopy = (dialect: ShadowCopyDialect): Rebuilder => ({
  // To rename a column, SQLite parses all triggers of the database, whatever table they are on.
  keepsOtherTriggers: false,

  async begin(db, models, token) {
    if (await isAnotherProcessCopying(db)) throw new StorageFault('busy', 'Another process is making tables anew.')
    await discardDrafts(db, dialect)
    const drafts: Draft[] = []
    for (const model of models) {
      const draft = await beginFor(db, model, token)
      if (draft) drafts.push(draft)
    }
    return drafts
  },

  discard: (db) => discardDrafts(db, dialect),
  readLeftovers: (db) => dialect.readTables(db, DRAFT_PREFIX),

  async apply(db, plans, drafts) {
    const isRebuilding = plans.some(({ steps }) => steps.some(({ kind }) => kind === 'rebuild'))
    await dropMarkTriggers(db)
    const createTheirsAgain = isRebuilding ? await dropOperatorObjects(db, dialect) : undefined
    for (const plan of plans) await applyPlan(db, plan, drafts)
    const models = drafts.map(({ model }) => model)
    await restoreParentNames(db, models, dialect)
    await createTheirsAgain?.()
    await discardDrafts(db, dialect)
  },

  // Foreign keys were off until now: those of a new table are checked before the commit.
  async refuseDangling(db, models) {
    for (const model of models) {
      const dangling = await dialect.readDangling(db, tableName(model))
      const reasons = dangling.map(
        ({ id, target }) => `${model.name} ${id} would refer to a ${target} that does not exist.`,
      )
      if (reasons.length > 0) throw new Refused(reasons)
    }
  },
})

async function beginFor(db: Database, model: Model, token: string): Promise<Draft | undefined> {
  const table = await db.dialect.tables.readTable(db, tableName(model))
  const plan = planTable(model, table, [], db.dialect.tables)
  if (!table || plan.refusals.length > 0) return undefined
  const { rows } = await sql<{ last: number | null }>`SELECT max("id") AS last FROM ${sql.table(table.name)}`.execute(
    db,
  )
  const draft = createDraft(plan, token, rows[0]?.last ?? 0)
  if (draft) await beginDraft(db, draft, table)
  return draft
}

async function applyPlan(db: Database, plan: TablePlan, drafts: Draft[]): Promise<void> {
  const { model, steps } = plan
  const wanted = createDraft(plan, '', 0)
  const draft = wanted && drafts.find((one) => isSameDraft(one, wanted))
  if (wanted && !draft) throw draftOutdated('The table has changed since its draft was begun.')
  for (const step of steps) {
    if (step.kind === 'triggers') continue
    if (step.kind === 'rebuild')
      await swapIn(db, draft as Draft, (await db.dialect.tables.readTable(db, tableName(model))) as TableState)
    // A draft is created with its indexes.
    else if (draft && (step.kind === 'index' || step.kind === 'unique')) continue
    else if (step.kind === 'unique') await createUniqueIndex(db, model, step)
    else await execute(db, step.sql)
  }
}
