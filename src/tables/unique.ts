import type { Model } from '../model/model.ts'
import { type Database, Refused } from '../storage/storage.ts'
import { execute } from './execute.ts'
import type { PlanStep } from './plan.ts'
import { describeDuplicates } from './verify.ts'

/** Creates a unique index. If records share a value, throws a `Refused` that names them. */
export async function createUniqueIndex(
  db: Database,
  model: Model,
  { sql: text, index }: Extract<PlanStep, { kind: 'index' | 'unique' }>,
) {
  const reasons = await describeDuplicates(db, model, index.fields)
  if (reasons.length > 0) throw new Refused(reasons)
  await execute(db, text)
}
