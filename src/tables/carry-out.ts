import { CompiledQuery, sql } from 'kysely'
import { type Field, type Model, tableOf } from '../model/model.ts'
import { type Database, Refused } from '../storage/storage.ts'
import { comparable } from './columns.ts'
import { countTriggers, recount } from './counts.ts'
import { quote, shapeOf } from './ddl.ts'
import type { Change } from './migrate.ts'
import { overviewOf, wantedTriggers } from './overview.ts'
import type { Step, TablePlan } from './plan.ts'
import { rebuildTable } from './rebuild.ts'
import { readTable, type TableState } from './state.ts'
import { isAmong, readTriggers, type Trigger } from './triggers.ts'
import { duplicatesOf, shareAValue } from './verify.ts'

/** The job that changes tables, inside a transaction with foreign keys off. What it throws undoes everything. */
export async function run(db: Database, { models, miscounted }: Change): Promise<TablePlan[]> {
  // Planned inside the transaction: of two processes, the second finds nothing left to do.
  const overview = await overviewOf(db, models)
  const refusals = overview.plans.flatMap(({ model, refusals }) => refusals.map((why) => `${model.name}: ${why}`))
  if (refusals.length > 0) throw new Refused(refusals)
  const plans = overview.plans.filter(({ steps }) => steps.length > 0)
  const rebuilds = plans.some(({ steps }) => steps.some(({ kind }) => kind === 'rebuild'))
  const wanted = wantedTriggers(models, overview.unserved, await readTriggers(db))
  // Triggers name tables and columns that are about to change: then they all go, and are made anew at the end.
  const kept = await dropTriggers(db, rebuilds ? [] : wanted)
  for (const plan of plans) await applyPlan(db, plan)
  for (const { name, sql: text } of wanted) if (!kept.includes(name)) await execute(db, text)
  // What happened to a table while nobody counted has to be counted now.
  for (const model of models) {
    const wasCounted = countTriggers(tableOf(model)).every(({ name }) => kept.includes(name))
    if (!wasCounted || miscounted.includes(model.name)) await recount(db, model)
  }
  if (rebuilds) await refuseDangling(db)
  await rememberShapes(db, models)
  await rememberSteps(db, plans)
  return plans
}

const execute = (db: Database, text: string) => db.executeQuery(CompiledQuery.raw(text))

async function applyPlan(db: Database, { model, steps }: TablePlan): Promise<void> {
  for (const step of steps) {
    if (step.kind === 'triggers') continue
    if (step.kind === 'rebuild')
      await rebuildTable(db, model, (await readTable(db, tableOf(model))) as TableState, step.rebuild)
    else if (step.kind === 'unique') await makeUnique(db, model, step)
    else await execute(db, step.sql)
  }
}

/** The data is as it will be: whatever shares a value now, shares it. */
async function makeUnique(db: Database, model: Model, { sql: text, index }: Extract<Step, { kind: 'unique' }>) {
  const keys = index.fields.map((name) =>
    sql.raw(comparable(model.fields.find((field) => field.name === name) as Field)),
  )
  const groups = await duplicatesOf(db, model, keys)
  if (groups.length > 0) throw new Refused(groups.map((ids) => `${model.name}: ${shareAValue(index.fields, ids)}`))
  await execute(db, text)
}

/** Drops our triggers but those that are wanted as they are; returns the names of these. */
async function dropTriggers(db: Database, wanted: Trigger[]): Promise<string[]> {
  const existing = await readTriggers(db)
  const isWanted = (one: Trigger) => isAmong(one, wanted)
  for (const { name } of existing.filter((trigger) => !isWanted(trigger)))
    await execute(db, `DROP TRIGGER ${quote(name)}`)
  return existing.filter(isWanted).map(({ name }) => name)
}

/** The last look before the commit: foreign keys were off, and every one of them has to hold again. */
async function refuseDangling(db: Database): Promise<void> {
  const { rows } = await sql<{ table: string; rowid: number; parent: string }>`
    SELECT "table", rowid, parent FROM pragma_foreign_key_check() LIMIT 10`.execute(db)
  if (rows.length === 0) return
  throw new Refused(
    rows.map(({ table, rowid, parent }) => `${table} ${rowid} would refer to a ${parent} that does not exist.`),
  )
}

/** Who was made for another shape is refused from now on. */
async function rememberShapes(db: Database, models: Model[]): Promise<void> {
  let hasChanged = false
  for (const model of models) {
    const { rows } = await sql`
      INSERT INTO dossier_tables (tbl, shape) VALUES (${tableOf(model)}, ${shapeOf(model)})
      ON CONFLICT DO UPDATE SET shape = excluded.shape WHERE shape <> excluded.shape RETURNING 1`.execute(db)
    hasChanged ||= rows.length > 0
  }
  if (!hasChanged) return
  // Readers look at the shapes again when the schema's number changes, which this does also where no table was touched.
  await execute(db, 'CREATE TABLE dossier_shapes_changed (x)')
  await execute(db, 'DROP TABLE dossier_shapes_changed')
}

/** Every applied plan leaves a row: when, what, from which model file. */
async function rememberSteps(db: Database, plans: TablePlan[]): Promise<void> {
  const at = new Date().toISOString()
  for (const { model, steps } of plans) {
    const what = JSON.stringify(steps.map((step) => step.what))
    await sql`
      INSERT INTO dossier_migrations (at, model, steps, fileHash) VALUES (${at}, ${model.name}, ${what}, ${model.hash})`.execute(
      db,
    )
  }
}
