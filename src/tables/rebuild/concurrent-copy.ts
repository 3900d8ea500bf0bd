import { sql } from 'kysely'
import { type Model, type Reference, tableName } from '../../model/model.ts'
import { type ConcurrentCopyDialect, type Database, Refused, StorageFault } from '../../storage/storage.ts'
import { modelIndexes, quote, withAlternateName } from '../ddl.ts'
import { execute } from '../execute.ts'
import { applyLinks } from '../links.ts'
import type { PlanStep } from '../plan.ts'
import { MAX_NAMED } from '../stored-rows.ts'
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
  staleDraftFault,
} from './draft.ts'
import { addLinkKeys, migrateForeignKeys, rebuildInPlace } from './in-place.ts'
import { keepLastNumber } from './last-number.ts'
import type { Rebuilder } from './rebuilder.ts'

/**
 * Fills a new table beside the one that is served, in portions (`draft-jobs.ts`), while triggers mark the records that
 * change meanwhile. The transaction at the end locks the old table, copies the marked records, and puts the new table
 * in the old one's place. A table with something made by hand, which the new one would not have, is changed in place.
 */
export const createConcurrentCopy = (dialect: ConcurrentCopyDialect): Rebuilder => ({
  // Dropping a trigger locks its table, so triggers of tables that do not change stay.
  keepsOtherTriggers: true,
  // A portion blocks nobody, so it may take longer than in SQLite.
  portionMs: 200,
  buildsIndexesBefore: true,

  async begin(db, models, token) {
    const isMadeByHand = async (table: string) => (await dialect.readHandMade(db, table)).length > 0
    const drafts = await createDraftTables(db, models, token, isMadeByHand)
    for (const { model } of drafts) await execute(db, dialect.copyGrants(tableName(model), draftName(model)))
    return drafts
  },

  readLeftovers: async (db) => [...(await readDrafts(db)), ...(await dialect.readInvalidIndexes(db))],

  // Before the lock, because these go through the whole table.
  async onFilled(db, draft) {
    await requireEqualCounts(db, draft)
    await execute(db, dialect.analyze(draftName(draft.model)))
  },

  async lock(db, plans) {
    const models = plans
      .filter(({ steps }) => steps[0]?.kind !== 'create' && steps.some(readsData))
      .map(({ model }) => model)
    if (models.length > 0) await execute(db, dialect.lockForSwap(models.map(tableName).sort()))
    return models
  },

  async finish(db, drafts) {
    for (const draft of drafts) await fillDraft(db, draft, Number.MAX_SAFE_INTEGER)
  },

  async apply(db, plans, drafts, built) {
    await dropMarkTriggers(db)
    const inPlace: Model[] = []
    for (const plan of plans) {
      const { model, steps } = plan
      const draft = findDraft(plan, drafts)
      if (steps.some(({ kind }) => kind === 'rebuild')) {
        const isMadeByHand = (await dialect.readHandMade(db, tableName(model))).length > 0
        if (isMadeByHand === (draft !== undefined))
          throw staleDraftFault('The table has changed since its draft was begun.')
        if (!draft) inPlace.push(model)
      }
      if (draft) await swapIn(db, draft, dialect)
      else for (const step of steps) await applyStep(db, model, step, dialect, built)
      for (const step of steps) if (step.kind === 'links') await applyLinks(db, model, step.links, draftedLink(draft))
    }
    for (const { model } of plans) await addLinkKeys(db, model, dialect)
    for (const { model } of plans) await migrateForeignKeys(db, model, dialect, !inPlace.includes(model))
    await discardDrafts(db)
  },

  // Only references that have changed: the old table's foreign keys have checked all others.
  async refuseDangling(db, plans) {
    const reasons: string[] = []
    for (const { model, steps } of plans)
      for (const step of steps)
        if (step.kind === 'rebuild')
          for (const { field } of step.rebuild.references)
            reasons.push(...(await describeDangling(db, model, field.name, field.reference as Reference)))
    if (reasons.length > 0) throw new Refused(reasons)
  },
})

/** Whether a step depends on the records that are stored. */
const readsData = ({ kind }: PlanStep) => !['index', 'unindex', 'triggers'].includes(kind)

async function applyStep(
  db: Database,
  model: Model,
  step: PlanStep,
  dialect: ConcurrentCopyDialect,
  built: string[],
): Promise<void> {
  try {
    if (step.kind === 'rebuild') await rebuildInPlace(db, model, step.rebuild, dialect)
    else if (step.kind === 'index' || step.kind === 'unique') {
      if (built.includes(step.index.name)) return
      // An unfinished one may have the name.
      await execute(db, `DROP INDEX IF EXISTS ${quote(step.index.name)}`)
      if (step.kind === 'unique') await createUniqueIndex(db, model, step)
      else await execute(db, step.sql)
    } else if ('sql' in step) await execute(db, step.sql)
  } catch (error) {
    throw explainBound(error, model, step.what)
  }
}

/** Explains that a change exceeds a limit of the engine. */
export const explainBound = (error: unknown, { name }: Model, what: string): unknown =>
  error instanceof StorageFault && ['index-too-long', 'row-too-wide'].includes(error.kind)
    ? new Refused([`${name}: ${what} is not possible: ${error.message}.`])
    : error

/** Replaces the table by its draft, and lets the foreign keys of other tables refer to it. */
async function swapIn(db: Database, { model }: Draft, dialect: ConcurrentCopyDialect): Promise<void> {
  const name = tableName(model)
  const referring = await dialect.readReferring(db, name)
  await keepLastNumber(db, name, async () => {
    for (const { drop } of referring) await execute(db, drop)
    await execute(db, `DROP TABLE ${quote(name)}`)
    for (const text of dialect.renameTable(draftName(model), name)) await execute(db, text)
  })
  const { indexes } = (await db.dialect.tables.readTable(db, name)) as { indexes: { name: string }[] }
  for (const index of modelIndexes(model, db.dialect.tables)) {
    const alternate = withAlternateName(index).name
    if (indexes.some((one) => one.name === alternate)) await execute(db, dialect.renameIndex(alternate, index.name))
  }
  // The ids are the same, so the values need no check.
  for (const { add } of referring) await execute(db, add)
}

async function describeDangling(db: Database, model: Model, field: string, reference: Reference): Promise<string[]> {
  const [table, target] = [tableName(model), tableName({ name: reference.model })]
  const { rows } = await sql<{ id: number }>`
    SELECT "id" FROM ${sql.table(table)} AS referring
    WHERE ${sql.ref(field)} IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM ${sql.table(target)} AS target WHERE target."id" = referring.${sql.ref(field)})
    LIMIT ${sql.lit(MAX_NAMED)}`.execute(db)
  return rows.map(({ id }) => `${model.name} ${id} would refer to a ${reference.model} that does not exist.`)
}
