import { setTimeout } from 'node:timers/promises'
import { CompiledQuery, sql } from 'kysely'
import { type Database, WITHOUT_FOREIGN_KEYS } from '../database/database.ts'
import { type Model, tableOf } from '../model/model.ts'
import { countTriggers, createCounts, recount } from './counts.ts'
import { quote, type Trigger, triggersOf } from './ddl.ts'
import { planTable, type TablePlan } from './plan.ts'
import { rebuildTable } from './rebuild.ts'
import { readTable, type TableState } from './state.ts'
import { verifyPlan } from './verify.ts'

/** A model asks for a change that would lose or break data. Nothing has been changed. */
export class MigrationRefused extends Error {
  constructor(refusals: string[]) {
    super(refusals.join('\n'))
    this.name = 'MigrationRefused'
  }
}

/** How long to wait for another process that is changing the same tables. */
const PATIENCE_MS = 600_000

/** What the models ask for, and whether it can be done; nothing is changed. */
export async function planModels(db: Database, models: Model[]): Promise<TablePlan[]> {
  const plans: TablePlan[] = []
  for (const model of models) {
    const table = await readTable(db, tableOf(model))
    const plan = planTable(model, table)
    const refusals = table && plan.refusals.length === 0 ? await verifyPlan(db, plan, table) : []
    plans.push({ ...plan, refusals: [...plan.refusals, ...refusals] })
  }
  return plans
}

/** A plan that changes or moves data that is there, and so wants a backup first. */
export const isRisky = ({ steps }: TablePlan) => steps.some(({ kind }) => kind === 'rename' || kind === 'rebuild')

/** Brings the tables in line with the models, all in one transaction, or none of it. Returns the plans carried out. */
export async function migrate(db: Database, models: Model[]): Promise<TablePlan[]> {
  for (const end = Date.now() + PATIENCE_MS; ; ) {
    try {
      // Planned inside the transaction: of two processes, the second finds nothing left to do.
      return await db
        .transaction()
        .setIsolationLevel(WITHOUT_FOREIGN_KEYS)
        .execute((inner) => carryOut(inner, models))
    } catch (error) {
      if ((error as { code?: string }).code !== 'SQLITE_BUSY' || Date.now() > end) throw error
      await setTimeout(100)
    }
  }
}

async function carryOut(db: Database, models: Model[]): Promise<TablePlan[]> {
  const plans = await planModels(db, models)
  const refusals = plans.flatMap((plan) => plan.refusals.map((refusal) => `${plan.model.name}: ${refusal}`))
  if (refusals.length > 0) throw new MigrationRefused(refusals)
  const changes = plans.filter(({ steps }) => steps.length > 0)
  const rebuilds = changes.some(({ steps }) => steps.some(({ kind }) => kind === 'rebuild'))
  await createCounts(db)
  const triggers = models.flatMap((model) => [...triggersOf(model), ...countTriggers(model)])
  // Triggers name tables and columns that are about to change: then they all go, and are made anew at the end.
  const kept = await dropTriggers(db, rebuilds ? [] : triggers)
  for (const plan of changes) await applyPlan(db, plan)
  for (const { name, sql: text } of triggers) if (!kept.includes(name)) await db.executeQuery(CompiledQuery.raw(text))
  // What happened to a table while nobody counted has to be counted now.
  for (const model of models)
    if (!countTriggers(model).every(({ name }) => kept.includes(name))) await recount(db, model)
  if (rebuilds) await refuseDangling(db)
  if (changes.length > 0) await recordHistory(db, changes)
  return changes
}

async function applyPlan(db: Database, { model, steps }: TablePlan): Promise<void> {
  for (const step of steps) {
    if (step.kind === 'rebuild') {
      const table = (await readTable(db, tableOf(model))) as TableState
      await rebuildTable(db, model, table, step.rebuild)
      continue
    }
    await db.executeQuery(CompiledQuery.raw(step.sql)).catch((error) => {
      if (error.code !== 'SQLITE_CONSTRAINT_UNIQUE') throw error
      throw new MigrationRefused([`${model.name}: cannot ${step.what}: there are records that share a value.`])
    })
  }
}

/** Drops our triggers but those that are wanted as they are; returns the names of these. */
async function dropTriggers(db: Database, wanted: Trigger[]): Promise<string[]> {
  const { rows: existing } = await sql<Trigger>`
    SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND (name GLOB '*__clear' OR name GLOB '*__count')`.execute(
    db,
  )
  const isWanted = (one: Trigger) => wanted.some((other) => one.name === other.name && one.sql === other.sql)
  for (const { name } of existing.filter((trigger) => !isWanted(trigger)))
    await db.executeQuery(CompiledQuery.raw(`DROP TRIGGER ${quote(name)}`))
  return existing.filter(isWanted).map(({ name }) => name)
}

/** The last look before the commit: foreign keys were off, and every one of them has to hold again. */
async function refuseDangling(db: Database): Promise<void> {
  const { rows } = await sql<{ table: string; rowid: number; parent: string }>`
    SELECT "table", rowid, parent FROM pragma_foreign_key_check() LIMIT 10`.execute(db)
  if (rows.length === 0) return
  throw new MigrationRefused(
    rows.map(({ table, rowid, parent }) => `${table} ${rowid} would refer to a ${parent} that does not exist.`),
  )
}

/** Every applied plan leaves a row: when, what, from which model file. */
async function recordHistory(db: Database, plans: TablePlan[]): Promise<void> {
  await sql`
    CREATE TABLE IF NOT EXISTS dossier_migrations (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      at TEXT NOT NULL,
      model TEXT NOT NULL,
      steps TEXT NOT NULL,
      fileHash TEXT NOT NULL
    )`.execute(db)
  const at = new Date().toISOString()
  for (const { model, steps } of plans) {
    const what = JSON.stringify(steps.map((step) => step.what))
    await db
      .insertInto('dossier_migrations')
      .values({ at, model: model.name, steps: what, fileHash: model.hash })
      .execute()
  }
}
