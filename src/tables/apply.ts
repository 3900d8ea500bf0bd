import { sql } from 'kysely'
import { type Model, modelsFingerprint, tableName } from '../model/model.ts'
import type { Database, Trigger } from '../storage/storage.ts'
import { columnTypes } from './columns.ts'
import { countTriggers, recount } from './counts.ts'
import { execute } from './execute.ts'
import { refuseDanglingLinks } from './links.ts'
import { type MigrationInput, Superseded } from './migrate.ts'
import {
  createMigrationPlan,
  type MigrationPlan,
  planTables,
  requiredTriggers,
  throwIfRefused,
} from './migration-plan.ts'
import type { PlanStep, TablePlan } from './plan.ts'
import { rebuilderFor } from './rebuild/strategies.ts'
import { recordRenames, recordSecrets, recoverSecrets } from './renames-and-secrets.ts'
import { dropChangedSearchIndexes, dropSearchIndex } from './search-index.ts'
import { modelShapes } from './shape.ts'
import { hasSameTrigger, readOwnTriggers } from './triggers.ts'

/** The job that changes tables, in one transaction (in SQLite with foreign keys off). An error rolls it back. */
export async function applyMigration(db: Database, input: MigrationInput): Promise<TablePlan[]> {
  const { models, miscounted, drafts, built, generation } = input
  const dialect = db.dialect.tables
  const rebuilder = rebuilderFor(dialect)
  if (generation !== undefined) await requireLatest(db, generation)
  await recoverSecrets(db, models)
  // Planned inside the transaction: if two processes migrate, the second one finds nothing left to do.
  const migrationPlan = await planUnderLock(db, input)
  await rebuilder.finish(db, drafts)
  const plans = migrationPlan.plans.filter(({ steps }) => steps.length > 0)
  const rebuilt = plans.filter(({ steps }) => steps.some(({ kind }) => kind === 'rebuild'))
  const renamed = plans.filter(({ steps }) => steps.some(({ kind }) => kind === 'rename'))
  const existing = await readOwnTriggers(db)
  const wanted = requiredTriggers(migrationPlan.plans, migrationPlan.unserved, existing, dialect)
  // Triggers name tables and columns that are about to change: they are dropped now and created again at the end.
  const changed = [...rebuilt, ...renamed].map(({ model }) => `${tableName(model)}__`)
  const stays = ({ name }: Trigger) =>
    changed.length === 0 || (rebuilder.keepsOtherTriggers && !changed.some((start) => name.startsWith(start)))
  await dropTriggers(db, existing, wanted.filter(stays))
  const fields = plans.flatMap(({ model }) => model.fields)
  for (const text of dialect.createTypes(columnTypes(fields))) await execute(db, text)
  await rebuilder.apply(db, plans, drafts, built)
  const rewritten = plans.filter(({ steps }) => steps.some(({ kind }) => REWRITES.includes(kind)))
  for (const { model } of rewritten)
    for (const text of dropSearchIndex(tableName(model), dialect)) await execute(db, text)
  await dropChangedSearchIndexes(db, models)
  // Replacing a table also drops the triggers that other models have on it.
  const left = await readOwnTriggers(db)
  for (const trigger of wanted) if (!hasSameTrigger(trigger, left)) await execute(db, dialect.createTrigger(trigger))
  // Without its count triggers, a table may have changed uncounted.
  for (const model of models) {
    const wasCounted = countTriggers(tableName(model), dialect).every((trigger) => hasSameTrigger(trigger, existing))
    if (!wasCounted || miscounted.includes(model.name)) await recount(db, model)
  }
  await rebuilder.refuseDangling(db, rebuilt)
  for (const { model, steps } of plans)
    for (const step of steps) if (step.kind === 'links') await refuseDanglingLinks(db, model, step.links.create)
  await recordRenames(db, plans)
  await recordSecrets(db, models)
  await recordShapes(db, models)
  if (dialect.isShared && generation === undefined) await publish(db, models)
  await recordSteps(db, plans)
  return plans
}

/** Steps that change texts, or the names of their columns. */
const REWRITES: readonly PlanStep['kind'][] = ['rename', 'rebuild', 'fill']

/**
 * Plans all changes. The tables whose data matters are locked, and planned again: others may have written until then.
 */
async function planUnderLock(db: Database, { models, drafts, built }: MigrationInput): Promise<MigrationPlan> {
  const preparation = { drafted: drafts.map(({ model }) => model.name), built }
  const migrationPlan = await createMigrationPlan(db, models, preparation)
  throwIfRefused(migrationPlan)
  const locked = await rebuilderFor(db.dialect.tables).lock(db, migrationPlan.plans)
  const again = await planTables(db, locked, await readOwnTriggers(db), preparation)
  throwIfRefused({ plans: again })
  const plans = migrationPlan.plans.map((plan) => again.find(({ model }) => model === plan.model) ?? plan)
  return { ...migrationPlan, plans }
}

/** Models that others have published since must not be undone. */
async function requireLatest(db: Database, generation: number): Promise<void> {
  const { rows } = await sql<{ latest: number }>`SELECT max(generation) AS latest FROM dossier_models`.execute(db)
  if (rows[0]?.latest !== generation) throw new Superseded()
}

/** Drops our triggers, except those that `wanted` has with the same SQL. */
async function dropTriggers(db: Database, existing: Trigger[], wanted: Trigger[]): Promise<void> {
  for (const trigger of existing)
    if (!hasSameTrigger(trigger, wanted)) await execute(db, db.dialect.tables.dropTrigger(trigger))
}

/** Records the new shapes: units and searches made for another shape are rejected as stale from now on. */
async function recordShapes(db: Database, models: Model[]): Promise<void> {
  let hasChanged = false
  for (const [name, shape] of models.flatMap((model) => modelShapes(model, db.dialect.tables))) {
    const { rows } = await sql`
      INSERT INTO dossier_tables (tbl, shape) VALUES (${name}, ${shape})
      ON CONFLICT (tbl) DO UPDATE SET shape = excluded.shape WHERE dossier_tables.shape <> excluded.shape RETURNING 1`.execute(
      db,
    )
    hasChanged ||= rows.length > 0
  }
  if (hasChanged) for (const text of db.dialect.tables.notifyShapes) await execute(db, text)
}

/** Publishes the models: from now on all nodes serve them. */
async function publish(db: Database, models: Model[]): Promise<void> {
  const row = { fingerprint: modelsFingerprint(models), models: JSON.stringify(models), at: new Date().toISOString() }
  await db.insertInto('dossier_models').values(row).execute()
}

/** Records each applied plan: time, steps and hash of the model file. */
async function recordSteps(db: Database, plans: TablePlan[]): Promise<void> {
  const at = new Date().toISOString()
  for (const { model, steps } of plans) {
    const what = JSON.stringify(steps.map((step) => step.what))
    await sql`
      INSERT INTO dossier_migrations (at, model, steps, "fileHash") VALUES (${at}, ${model.name}, ${what}, ${model.hash})`.execute(
      db,
    )
  }
}
