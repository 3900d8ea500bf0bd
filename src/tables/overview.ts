import { type Model, tableName } from '../model/model.ts'
import { type Database, Refused, type TableDialect, type TableState, type Trigger } from '../storage/storage.ts'
import { countTriggerNames } from './counts.ts'
import { tableShape } from './ddl.ts'
import { journalTriggerNames } from './journal.ts'
import { planTable, type TablePlan } from './plan.ts'
import { rebuilderFor } from './rebuild/strategies.ts'
import { readSecrets } from './renames-and-secrets.ts'
import { createTriggers, isAmong, readOwnTriggers, unservedTriggers } from './triggers.ts'
import { verifyPlan } from './verify.ts'

/** What the models ask for, and what is there beside them. */
export interface Overview {
  plans: TablePlan[]
  unserved: Unserved[]
  /** every table is known by its present shape */
  isKnown: boolean
  /** names of our triggers that nobody wants any more, and of drafts that nobody finished */
  stale: string[]
}

/** A table whose model has no file any more. Its records are kept, and hold up the delete of what they refer to. */
export interface Unserved {
  name: string
  records: number
  triggers: Trigger[]
  /** it was served until now */
  isNew: boolean
}

/** What there is to do, and whether it can be done; nothing is changed. `drafted`: tables that have been made anew. */
export async function createOverview(db: Database, models: Model[], drafted: string[] = []): Promise<Overview> {
  const dialect = db.dialect.tables
  const triggers = await readOwnTriggers(db)
  const secrets = await readSecrets(db)
  const plans: TablePlan[] = []
  for (const model of models) {
    const table = await dialect.readTable(db, tableName(model))
    const plan = planTable(model, table, triggers, dialect, secrets.get(model.name))
    const isDrafted = drafted.includes(model.name)
    const refusals = table && plan.refusals.length === 0 ? await verifyPlan(db, plan, table, isDrafted) : []
    plans.push({ ...plan, refusals: [...plan.refusals, ...refusals] })
  }
  const unserved = await unservedAmong(db, models, triggers)
  const wanted = new Set(wantedTriggers(plans, unserved, triggers, dialect).map(({ name }) => name))
  const stale = triggers.filter(({ name }) => !wanted.has(name)).map(({ name }) => name)
  const drafts = await rebuilderFor(dialect).readLeftovers(db)
  return { plans, unserved, isKnown: await areShapesKnown(db, models), stale: [...stale, ...drafts] }
}

async function unservedAmong(db: Database, models: Model[], existing: Trigger[]): Promise<Unserved[]> {
  const served = new Set(models.map((model) => tableName(model).toLowerCase()))
  const unserved: Unserved[] = []
  const dialect = db.dialect.tables
  for (const name of await dialect.modelTables(db)) {
    if (served.has(name.toLowerCase())) continue
    const table = (await dialect.readTable(db, name)) as TableState
    const triggers = unservedTriggers(table, dialect)
    unserved.push({
      name: name.replaceAll('__', '.'),
      records: table.rows,
      triggers,
      isNew: !triggers.every((wanted) => isAmong(wanted, existing)),
    })
  }
  return unserved
}

/** Of all models, and of those that are not served: these go on counting and writing down, and hold up deletes. */
export function wantedTriggers(
  plans: TablePlan[],
  unserved: Unserved[],
  existing: Trigger[],
  dialect: TableDialect,
): Trigger[] {
  const kept = unserved.flatMap(({ name }) => {
    const table = tableName({ name })
    return [...countTriggerNames(table), ...journalTriggerNames(table)]
  })
  return [
    ...plans.flatMap(({ model, hidden }) => createTriggers(model, dialect, hidden)),
    ...unserved.flatMap(({ triggers }) => triggers),
    ...existing.filter(({ name }) => kept.includes(name)),
  ]
}

export async function areShapesKnown(db: Database, models: Model[]): Promise<boolean> {
  // A database of an earlier version that is only looked at has none.
  if (!(await db.dialect.tables.hasTable(db, 'dossier_tables'))) return false
  const rows = await db.selectFrom('dossier_tables').select(['tbl', 'shape']).execute()
  const shapes = new Map(rows.map(({ tbl, shape }) => [tbl, shape]))
  return models.every((model) => shapes.get(tableName(model)) === tableShape(model))
}

/** Throws if anything of it cannot be done. */
export function refuse({ plans }: Overview): void {
  const reasons = plans.flatMap(({ model, refusals }) => refusals.map((why) => `${model.name}: ${why}`))
  if (reasons.length > 0) throw new Refused(reasons)
}

/** Whether anything has to be changed, or would be refused. */
export const isUpToDate = ({ plans, unserved, isKnown, stale }: Overview) =>
  isKnown &&
  stale.length === 0 &&
  plans.every(({ steps, refusals }) => steps.length + refusals.length === 0) &&
  unserved.every(({ isNew }) => !isNew)

/** As a job, whose third argument is another one. */
export const run = (db: Database, models: Model[]) => createOverview(db, models)
