import { sql } from 'kysely'
import { type Model, modelsFingerprint, tableName } from '../model/model.ts'
import type { Database, Trigger } from '../storage/storage.ts'
import { columnTypes } from './columns.ts'
import { countTriggers, recount } from './counts.ts'
import { tableShape } from './ddl.ts'
import { execute } from './execute.ts'
import type { MigrationInput } from './migrate.ts'
import { createOverview, refuse, wantedTriggers } from './overview.ts'
import type { TablePlan } from './plan.ts'
import { fillDraft, requireWhole } from './rebuild/draft.ts'
import { rebuilderFor } from './rebuild/strategies.ts'
import { recoverSecrets, rememberRenames, rememberSecrets } from './renames-and-secrets.ts'
import { isAmong, readOwnTriggers } from './triggers.ts'

/** The job that changes tables, inside a transaction with foreign keys off. What it throws undoes everything. */
export async function run(db: Database, { models, miscounted, drafts }: MigrationInput): Promise<TablePlan[]> {
  for (const draft of drafts) {
    await fillDraft(db, draft, Number.MAX_SAFE_INTEGER)
    await requireWhole(db, draft)
  }
  await recoverSecrets(db, models)
  // Planned inside the transaction: of two processes, the second finds nothing left to do.
  const overview = await createOverview(
    db,
    models,
    drafts.map(({ model }) => model.name),
  )
  refuse(overview)
  const plans = overview.plans.filter(({ steps }) => steps.length > 0)
  const rebuilt = plans.filter(({ steps }) => steps.some(({ kind }) => kind === 'rebuild'))
  const renamed = plans.filter(({ steps }) => steps.some(({ kind }) => kind === 'rename'))
  const existing = await readOwnTriggers(db)
  const dialect = db.dialect.tables
  const rebuilder = rebuilderFor(dialect)
  const wanted = wantedTriggers(overview.plans, overview.unserved, existing, dialect)
  // Triggers name tables and columns that are about to change: they are dropped now and created again at the end.
  const changed = [...rebuilt, ...renamed].map(({ model }) => `${tableName(model)}__`)
  const stays = ({ name }: Trigger) =>
    changed.length === 0 || (rebuilder.keepsOtherTriggers && !changed.some((start) => name.startsWith(start)))
  const kept = await dropTriggers(db, existing, wanted.filter(stays))
  const fields = plans.flatMap(({ model }) => model.fields)
  for (const text of dialect.createTypes(columnTypes(fields))) await execute(db, text)
  await rebuilder.apply(db, plans, drafts)
  for (const trigger of wanted) if (!kept.includes(trigger.name)) await execute(db, dialect.createTrigger(trigger))
  // What happened to a table while nobody counted has to be counted now.
  for (const model of models) {
    const wasCounted = countTriggers(tableName(model), dialect).every((trigger) => isAmong(trigger, existing))
    if (!wasCounted || miscounted.includes(model.name)) await recount(db, model)
  }
  await rebuilder.refuseDangling(
    db,
    rebuilt.map(({ model }) => model),
  )
  await rememberRenames(db, plans)
  await rememberSecrets(db, models)
  await rememberShapes(db, models)
  if (dialect.isShared) await publish(db, models)
  await rememberSteps(db, plans)
  return plans
}

/** Drops our triggers but those that are wanted as they are; returns the names of these. */
async function dropTriggers(db: Database, existing: Trigger[], wanted: Trigger[]): Promise<string[]> {
  const isWanted = (one: Trigger) => isAmong(one, wanted)
  for (const trigger of existing.filter((one) => !isWanted(one)))
    await execute(db, db.dialect.tables.dropTrigger(trigger))
  return existing.filter(isWanted).map(({ name }) => name)
}

/** Who was made for another shape is refused from now on. */
async function rememberShapes(db: Database, models: Model[]): Promise<void> {
  let hasChanged = false
  for (const model of models) {
    const { rows } = await sql`
      INSERT INTO dossier_tables (tbl, shape) VALUES (${tableName(model)}, ${tableShape(model)})
      ON CONFLICT (tbl) DO UPDATE SET shape = excluded.shape WHERE dossier_tables.shape <> excluded.shape RETURNING 1`.execute(
      db,
    )
    hasChanged ||= rows.length > 0
  }
  if (hasChanged) for (const text of db.dialect.tables.notifyShapes) await execute(db, text)
}

/** From now on all nodes serve these models. */
async function publish(db: Database, models: Model[]): Promise<void> {
  const row = { fingerprint: modelsFingerprint(models), models: JSON.stringify(models), at: new Date().toISOString() }
  await db.insertInto('dossier_models').values(row).execute()
}

/** Every applied plan leaves a row: when, what, from which model file. */
async function rememberSteps(db: Database, plans: TablePlan[]): Promise<void> {
  const at = new Date().toISOString()
  for (const { model, steps } of plans) {
    const what = JSON.stringify(steps.map((step) => step.what))
    await sql`
      INSERT INTO dossier_migrations (at, model, steps, "fileHash") VALUES (${at}, ${model.name}, ${what}, ${model.hash})`.execute(
      db,
    )
  }
}
