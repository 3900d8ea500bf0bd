import { linkTable, type Model, tableName } from '../model/model.ts'
import { type Database, Refused, type TableDialect, type TableState, type Trigger } from '../storage/storage.ts'
import { countTriggerNames } from './counts.ts'
import { journalTriggerNames } from './journal-triggers.ts'
import { isLinkTable, linkTriggerNames } from './links.ts'
import { orderTriggerNames } from './order-columns.ts'
import { planTable, type TablePlan } from './plan.ts'
import { rebuilderFor } from './rebuild/strategies.ts'
import { readSecrets } from './renames-and-secrets.ts'
import { searchTriggerNames } from './search-index.ts'
import { modelShapes } from './shape.ts'
import { hasSameTrigger, modelTriggers, readOwnTriggers, unservedTriggers } from './triggers.ts'
import { verifyPlan } from './verify.ts'

/** The result of comparing the models with the tables. */
export interface MigrationPlan {
  plans: TablePlan[]
  unserved: Unserved[]
  /** whether `dossier_tables` has the shape of every model */
  areShapesKnown: boolean
  /** names of our triggers that no table needs any more, and of unfinished drafts */
  obsolete: string[]
}

/** A table whose model file was removed. Its records are kept, and block the delete of records that they refer to. */
export interface Unserved {
  name: string
  records: number
  triggers: Trigger[]
  /** some of `triggers` do not exist yet: the model was served until now */
  isNew: boolean
}

/** The work that has been done ahead of a change. */
export interface Preparation {
  /** models whose tables have filled drafts */
  drafted: string[]
  /** indexes that have been created */
  built: string[]
}

/** Plans and verifies all changes, and makes none. */
export async function createMigrationPlan(
  db: Database,
  models: Model[],
  preparation: Preparation = { drafted: [], built: [] },
): Promise<MigrationPlan> {
  const dialect = db.dialect.tables
  const triggers = await readOwnTriggers(db)
  const plans = await planTables(db, models, triggers, preparation)
  const unserved = await findUnserved(db, models, triggers)
  const wanted = new Set(requiredTriggers(plans, unserved, triggers, dialect).map(({ name }) => name))
  const obsolete = triggers.filter(({ name }) => !wanted.has(name)).map(({ name }) => name)
  const drafts = await rebuilderFor(dialect).readLeftovers(db)
  return { plans, unserved, areShapesKnown: await areShapesKnown(db, models), obsolete: [...obsolete, ...drafts] }
}

/** Plans and verifies the changes of some tables. */
export async function planTables(
  db: Database,
  models: Model[],
  triggers: Trigger[],
  { drafted, built }: Preparation,
): Promise<TablePlan[]> {
  const dialect = db.dialect.tables
  const secrets = await readSecrets(db)
  const plans: TablePlan[] = []
  for (const model of models) {
    const table = await dialect.readTable(db, tableName(model))
    // Their creation is part of the plan, which tells what has been changed.
    if (table) table.indexes = table.indexes.filter(({ name }) => !built.includes(name))
    const plan = planTable(model, table, triggers, dialect, secrets.get(model.name))
    const isDrafted = drafted.includes(model.name)
    const foreign = await checkLinkTableNames(db, plan)
    const isPlanned = plan.refusals.length + foreign.length === 0
    const refusals = table && isPlanned ? await verifyPlan(db, plan, table, isDrafted, built) : []
    plans.push({ ...plan, refusals: [...plan.refusals, ...foreign, ...refusals] })
  }
  return plans
}

/** Refuses link tables with the name of another table: that of a model that is not served, or of an operator. */
async function checkLinkTableNames(db: Database, { model, steps }: TablePlan): Promise<string[]> {
  const refusals: string[] = []
  for (const step of steps)
    for (const field of step.kind === 'links' ? step.links.create : []) {
      const other = await db.dialect.tables.readTable(db, linkTable(model, field))
      if (other && !isLinkTable(other))
        refusals.push(
          `"${field.name}" would have its links in the table ${other.name}, which exists already. Choose another name.`,
        )
    }
  return refusals
}

async function findUnserved(db: Database, models: Model[], existing: Trigger[]): Promise<Unserved[]> {
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
      isNew: !triggers.every((wanted) => hasSameTrigger(wanted, existing)),
    })
  }
  return unserved
}

/** Triggers of all models and unserved tables. The latter keep counting and journalling, and block deletes. */
export function requiredTriggers(
  plans: TablePlan[],
  unserved: Unserved[],
  existing: Trigger[],
  dialect: TableDialect,
): Trigger[] {
  const kept = unserved.flatMap(({ name }) => {
    const table = tableName({ name })
    return [
      ...countTriggerNames(table),
      ...journalTriggerNames(table),
      ...orderTriggerNames(table),
      ...searchTriggerNames(table),
      ...linkTriggerNames(table),
    ]
  })
  return [
    ...plans.flatMap(({ model, hidden }) => modelTriggers(model, dialect, hidden)),
    ...unserved.flatMap(({ triggers }) => triggers),
    ...existing.filter(({ name }) => kept.includes(name)),
  ]
}

export async function areShapesKnown(db: Database, models: Model[]): Promise<boolean> {
  // A database of an earlier version lacks the table if it is only inspected, not upgraded.
  if (!(await db.dialect.tables.hasTable(db, 'dossier_tables'))) return false
  const rows = await db.selectFrom('dossier_tables').select(['tbl', 'shape']).execute()
  const shapes = new Map(rows.map(({ tbl, shape }) => [tbl, shape]))
  const wanted = models.flatMap((model) => modelShapes(model, db.dialect.tables))
  return wanted.every(([name, shape]) => shapes.get(name) === shape)
}

/** Throws `Refused` if a plan has refusals. */
export function throwIfRefused({ plans }: Pick<MigrationPlan, 'plans'>): void {
  const reasons = plans.flatMap(({ model, refusals }) => refusals.map((why) => `${model.name}: ${why}`))
  if (reasons.length > 0) throw new Refused(reasons)
}

/** Whether nothing has to be changed and nothing is refused. */
export const isUpToDate = ({ plans, unserved, areShapesKnown, obsolete }: MigrationPlan) =>
  areShapesKnown &&
  obsolete.length === 0 &&
  plans.every(({ steps, refusals }) => steps.length + refusals.length === 0) &&
  unserved.every(({ isNew }) => !isNew)

/** Entry point as a job: a job's third argument is a progress callback. */
export const planMigrationJob = (db: Database, models: Model[]) => createMigrationPlan(db, models)
