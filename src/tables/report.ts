import { mapValues } from '../lib/map-values.ts'
import { describeAccess, OPERATIONS } from '../model/access.ts'
import { type Model, tableName } from '../model/model.ts'
import type { Database } from '../storage/storage.ts'
import { type BrokenRule, countBrokenRules } from './broken-rules.ts'
import { createMigrationPlan } from './migration-plan.ts'
import { isModelTable, type TablePlan } from './plan.ts'

/** The effect that serving a model would have on its data, as text for people. */
export interface Report {
  model: string
  steps: string[]
  refusals: string[]
  /** columns that no field has; their data is kept */
  hidden: string[]
  /** field → number of stored records that break its rules */
  broken: Record<string, number>
  /** field → ids of the first of these records */
  brokenIn: Record<string, number[]>
  /** operation → description of the users who may perform it */
  access: Record<string, string>
}

/** A model whose file was removed. */
export interface UnservedModel {
  model: string
  records: number
}

/** Reports what serving these models would do to the data, and changes nothing. A job, because it may take long. */
export async function createReports(
  db: Database,
  models: Model[],
): Promise<{ reports: Report[]; unserved: UnservedModel[] }> {
  const { plans, unserved } = await createMigrationPlan(db, models)
  const reports = await reportAll(db, plans)
  return { reports, unserved: unserved.map(({ name, records }) => ({ model: name, records })) }
}

/** Reports what a change of one model would do to its data, and to that of models that are changed with it. */
export async function createReportsForModel(
  db: Database,
  { models, of }: { models: Model[]; of: string },
): Promise<Report[]> {
  const { plans } = await createMigrationPlan(db, models)
  const isConcerned = ({ model, steps, refusals }: TablePlan) => model.name === of || steps.length + refusals.length > 0
  return reportAll(db, plans.filter(isConcerned))
}

async function reportAll(db: Database, plans: TablePlan[]): Promise<Report[]> {
  const reports: Report[] = []
  for (const plan of plans) {
    const table = await db.dialect.tables.readTable(db, tableName(plan.model))
    const broken =
      table && isModelTable(table) ? await countBrokenRules(db, plan.model, table) : new Map<string, BrokenRule>()
    reports.push(createReport(plan, Object.fromEntries(broken)))
  }
  return reports
}

export function createReport(
  { model, steps, refusals, hidden }: TablePlan,
  rules: Record<string, BrokenRule> = {},
): Report {
  const access = Object.fromEntries(OPERATIONS.map((operation) => [operation, describeAccess(model, operation)]))
  const broken = mapValues(rules, ({ records }) => records)
  const brokenIn = mapValues(rules, ({ ids }) => ids)
  return {
    model: model.name,
    steps: steps.map(({ what }) => what),
    refusals,
    hidden: hidden.map(({ name }) => name),
    broken,
    brokenIn,
    access,
  }
}
