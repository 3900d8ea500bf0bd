import { sql } from 'kysely'
import { type Model, modelsFingerprint, tableName } from '../model/model.ts'
import { type Database, Refused, type TableState, type Trigger } from '../storage/storage.ts'
import { countTriggers, recount } from './counts.ts'
import { tableShape } from './ddl.ts'
import { execute } from './execute.ts'
import type { MigrationInput } from './migrate.ts'
import { createOverview, refuse, wantedTriggers } from './overview.ts'
import type { TablePlan } from './plan.ts'
import {
  createDraft,
  type Draft,
  discardDrafts,
  draftOutdated,
  fillDraft,
  isSameDraft,
  requireWhole,
  swapIn,
} from './rebuild/draft.ts'
import { applyInPlace } from './rebuild/in-place.ts'
import { setAside } from './rebuild/made-by-hand.ts'
import { nameParents } from './rebuild/parents.ts'
import { unwatch } from './rebuild/watched.ts'
import { recoverSecrets, rememberRenames, rememberSecrets } from './renames-and-secrets.ts'
import { isAmong, readTriggers } from './triggers.ts'
import { makeUnique } from './unique.ts'

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
  const existing = await readTriggers(db)
  const dialect = db.dialect.tables
  const wanted = wantedTriggers(overview.plans, overview.unserved, existing, dialect)
  // Triggers name tables and columns that are about to change: they go, and are made anew at the end. Where columns are
  // changed in place those of other tables stay, for dropping one locks its table; else all go: to rename a column, SQLite
  // would read each of them, whatever table it is on.
  const changed = [...rebuilt, ...renamed].map(({ model }) => `${tableName(model)}__`)
  const stays = ({ name }: Trigger) =>
    changed.length === 0 || (dialect.altersInPlace && !changed.some((start) => name.startsWith(start)))
  const kept = await dropTriggers(db, existing, wanted.filter(stays))
  if (dialect.altersInPlace) await applyInPlace(db, plans)
  else await applyWithDrafts(db, plans, drafts)
  for (const trigger of wanted) if (!kept.includes(trigger.name)) await execute(db, dialect.createTrigger(trigger))
  // What happened to a table while nobody counted has to be counted now.
  for (const model of models) {
    const wasCounted = countTriggers(tableName(model), dialect).every((trigger) => isAmong(trigger, existing))
    if (!wasCounted || miscounted.includes(model.name)) await recount(db, model)
  }
  // Where references are looked after at all times, they hold.
  if (!dialect.altersInPlace) for (const { model } of rebuilt) await refuseDangling(db, model)
  await rememberRenames(db, plans)
  await rememberSecrets(db, models)
  await rememberShapes(db, models)
  if (dialect.isShared) await publish(db, models)
  await rememberSteps(db, plans)
  return plans
}

async function applyWithDrafts(db: Database, plans: TablePlan[], drafts: Draft[]): Promise<void> {
  const isRebuilding = plans.some(({ steps }) => steps.some(({ kind }) => kind === 'rebuild'))
  await unwatch(db)
  const makeTheirsAgain = isRebuilding ? await setAside(db) : undefined
  for (const plan of plans) await applyPlan(db, plan, drafts)
  await nameParents(
    db,
    drafts.map(({ model }) => model),
  )
  await makeTheirsAgain?.()
  await discardDrafts(db)
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
    // A draft has its indexes from the start.
    else if (draft && (step.kind === 'index' || step.kind === 'unique')) continue
    else if (step.kind === 'unique') await makeUnique(db, model, step)
    else await execute(db, step.sql)
  }
}

/** Drops our triggers but those that are wanted as they are; returns the names of these. */
async function dropTriggers(db: Database, existing: Trigger[], wanted: Trigger[]): Promise<string[]> {
  const isWanted = (one: Trigger) => isAmong(one, wanted)
  for (const trigger of existing.filter((one) => !isWanted(one)))
    await execute(db, db.dialect.tables.dropTrigger(trigger))
  return existing.filter(isWanted).map(({ name }) => name)
}

/** The last look before the commit: foreign keys were off, and those of a new table have to hold. */
async function refuseDangling(db: Database, model: Model): Promise<void> {
  const { rows } = await sql<{ rowid: number; parent: string }>`
    SELECT rowid, parent FROM pragma_foreign_key_check(${tableName(model)}) LIMIT 10`.execute(db)
  if (rows.length === 0) return
  throw new Refused(
    rows.map(({ rowid, parent }) => `${model.name} ${rowid} would refer to a ${parent} that does not exist.`),
  )
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
