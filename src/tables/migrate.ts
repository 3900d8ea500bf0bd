import { CompiledQuery } from 'kysely'
import type { Database } from '../database/database.ts'
import { type Model, tableOf } from '../model/model.ts'
import { planTable, type TablePlan } from './plan.ts'
import { readTable } from './state.ts'

/** A model asks for a change that would lose or break data. Nothing has been changed. */
export class MigrationRefused extends Error {
  constructor(plans: TablePlan[]) {
    super(plans.flatMap(({ model, refusals }) => refusals.map((refusal) => `${model}: ${refusal}`)).join('\n'))
    this.name = 'MigrationRefused'
  }
}

/** Brings the tables in line with the models, all in one transaction, or none of it. Returns the plans carried out. */
export async function migrate(db: Database, models: Model[]): Promise<TablePlan[]> {
  return db.transaction().execute(async (transaction) => {
    const plans: TablePlan[] = []
    for (const model of models) plans.push(planTable(model, await readTable(transaction, tableOf(model))))
    if (plans.some(({ refusals }) => refusals.length > 0)) throw new MigrationRefused(plans)
    const changes = plans.filter(({ steps }) => steps.length > 0)
    const steps = changes.flatMap((plan) => plan.steps)
    for (const { sql } of [...steps.filter(({ late }) => !late), ...steps.filter(({ late }) => late)])
      await transaction.executeQuery(CompiledQuery.raw(sql))
    return changes
  })
}
