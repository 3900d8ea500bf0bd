import { type Model, tableOf } from '../model/model.ts'
import type { Database } from '../storage/storage.ts'
import { shapeOf } from './ddl.ts'
import { planTable, type TablePlan } from './plan.ts'
import { modelTables, readTable, readTriggers, type TableState } from './state.ts'
import { type Trigger, unservedTriggers } from './triggers.ts'
import { verifyPlan } from './verify.ts'

/** What the models ask for, and what is there beside them. */
export interface Overview {
  plans: TablePlan[]
  unserved: Unserved[]
  /** every table is known by its present shape */
  isKnown: boolean
}

/** A table whose model has no file any more. Its records are kept, and hold up the delete of what they refer to. */
export interface Unserved {
  name: string
  records: number
  triggers: Trigger[]
  /** it was served until now */
  isNew: boolean
}

/** What there is to do, and whether it can be done; nothing is changed. */
export async function overviewOf(db: Database, models: Model[]): Promise<Overview> {
  const triggers = await readTriggers(db)
  const plans: TablePlan[] = []
  for (const model of models) {
    const table = await readTable(db, tableOf(model))
    const plan = planTable(model, table, triggers)
    const refusals = table && plan.refusals.length === 0 ? await verifyPlan(db, plan, table) : []
    plans.push({ ...plan, refusals: [...plan.refusals, ...refusals] })
  }
  return { plans, unserved: await unservedAmong(db, models, triggers), isKnown: await areKnown(db, models) }
}

async function unservedAmong(db: Database, models: Model[], existing: Trigger[]): Promise<Unserved[]> {
  const served = new Set(models.map((model) => tableOf(model).toLowerCase()))
  const unserved: Unserved[] = []
  for (const name of await modelTables(db)) {
    if (served.has(name.toLowerCase())) continue
    const table = (await readTable(db, name)) as TableState
    const triggers = unservedTriggers(name, table)
    const isThere = (wanted: Trigger) => existing.some((one) => one.name === wanted.name)
    unserved.push({
      name: name.replaceAll('__', '.'),
      records: table.rows,
      triggers,
      isNew: !triggers.every(isThere),
    })
  }
  return unserved
}

async function areKnown(db: Database, models: Model[]): Promise<boolean> {
  const rows = await db.selectFrom('dossier_tables').select(['tbl', 'shape']).execute()
  const shapes = new Map(rows.map(({ tbl, shape }) => [tbl, shape]))
  return models.every((model) => shapes.get(tableOf(model)) === shapeOf(model))
}

/** Whether anything has to be changed, or would be refused. */
export const isNothingToDo = ({ plans, unserved, isKnown }: Overview) =>
  isKnown &&
  plans.every(({ steps, refusals }) => steps.length + refusals.length === 0) &&
  unserved.every(({ isNew }) => !isNew)

export { overviewOf as run }
