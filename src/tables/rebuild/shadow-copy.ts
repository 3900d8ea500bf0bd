import { tableName } from '../../model/model.ts'
import { type Database, Refused, type ShadowCopyDialect, type TableState } from '../../storage/storage.ts'
import { type Index, quote } from '../ddl.ts'
import { execute } from '../execute.ts'
import { applyLinks } from '../links.ts'
import type { TablePlan } from '../plan.ts'
import { createUniqueIndex } from '../unique.ts'
import { draftName, dropMarkTriggers } from './change-marks.ts'
import {
  createDraftTables,
  type Draft,
  discardDrafts,
  draftedLink,
  fillDraft,
  findDraft,
  readDrafts,
  requireEqualCounts,
  requireNobodyCopies,
  staleDraftFault,
} from './draft.ts'
import { keepLastNumber } from './last-number.ts'
import { createAgain, dropOperatorObjects } from './made-by-hand.ts'
import { restoreParentNames } from './parent-names.ts'
import type { Rebuilder } from './rebuilder.ts'

/**
 * Fills a new table beside the one that is served, in portions (`draft-jobs.ts`), while triggers mark the records that
 * change meanwhile. The transaction at the end copies only these and puts the new table in the old one's place.
 */
export const createShadowCopy = (dialect: ShadowCopyDialect): Rebuilder => ({
  // To rename a column, SQLite parses all triggers of the database, whatever table they are on.
  keepsOtherTriggers: false,

  portionMs: 30,
  buildsIndexesBefore: false,

  async begin(db, models, token) {
    await requireNobodyCopies(db)
    return createDraftTables(db, models, token, undefined, isBuiltLater)
  },

  readLeftovers: readDrafts,
  onFilled: async () => {},

  // Nobody else has written since the transaction began.
  lock: async () => [],

  async finish(db, drafts) {
    for (const draft of drafts) {
      await fillDraft(db, draft, Number.MAX_SAFE_INTEGER)
      await requireEqualCounts(db, draft)
    }
  },

  async apply(db, plans, drafts) {
    const isRebuilding = plans.some(({ steps }) => steps.some(({ kind }) => kind === 'rebuild'))
    await dropMarkTriggers(db)
    const createTheirsAgain = isRebuilding ? await dropOperatorObjects(db, dialect) : undefined
    for (const plan of plans) await applyPlan(db, plan, drafts)
    const models = drafts.map(({ model }) => model)
    await restoreParentNames(db, models, dialect)
    await createTheirsAgain?.()
    await discardDrafts(db)
  },

  // Foreign keys were off until now: those of a new table are checked before the commit.
  async refuseDangling(db, plans) {
    for (const { model } of plans) {
      const dangling = await dialect.readDangling(db, tableName(model))
      const reasons = dangling.map(
        ({ id, target }) => `${model.name} ${id} would refer to a ${target} that does not exist.`,
      )
      if (reasons.length > 0) throw new Refused(reasons)
    }
  },
})

/**
 * Texts are in a random order: to add them one by one would write a page of the index for each record. All of a million
 * are added in about a second.
 */
const isBuiltLater = ({ isSorted = false }: Index) => isSorted

async function applyPlan(db: Database, plan: TablePlan, drafts: Draft[]): Promise<void> {
  const { model, steps } = plan
  const draft = findDraft(plan, drafts)
  if (!draft && steps.some(({ kind }) => kind === 'rebuild'))
    throw staleDraftFault('The table has changed since its draft was begun.')
  for (const step of steps) {
    if (step.kind === 'triggers') continue
    if (step.kind === 'links') {
      await applyLinks(db, model, step.links, draftedLink(draft))
      continue
    }
    if (step.kind === 'sort-keys') for (const text of step.statements) await execute(db, text)
    else if (step.kind === 'rebuild')
      await swapIn(db, draft as Draft, (await db.dialect.tables.readTable(db, tableName(model))) as TableState)
    // A draft is created with most of its indexes.
    else if (draft && (step.kind === 'index' || step.kind === 'unique') && !isBuiltLater(step.index)) continue
    else if (step.kind === 'unique') await createUniqueIndex(db, model, step)
    else await execute(db, step.sql)
  }
}

/**
 * Replaces the table by its draft. Foreign keys have to be off, or dropping the old table would delete records that
 * refer to it. Triggers have to be dropped before, because they name tables and columns that change.
 */
async function swapIn(db: Database, { model }: Draft, table: TableState): Promise<void> {
  const name = tableName(model)
  await keepLastNumber(db, name, async () => {
    await execute(db, `DROP TABLE ${quote(name)}`)
    await execute(db, `ALTER TABLE ${quote(draftName(model))} RENAME TO ${quote(name)}`)
  })
  // Indexes that an operator created were dropped with the old table.
  for (const index of table.indexes)
    if (!index.name.startsWith(`${name}__`)) await createAgain(db, { type: 'index', ...index })
}
