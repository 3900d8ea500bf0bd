import { setTimeout } from 'node:timers/promises'
import type { Model } from '../model/model.ts'
import { jobAt, type Storage, StorageFault } from '../storage/storage.ts'
import type { Overview } from './overview.ts'
import type { TablePlan } from './plan.ts'

/** How long to wait for another process that is changing the same tables. */
const PATIENCE_MS = 600_000

/** What is carried out. */
export interface Change {
  models: Model[]
  /** names of models whose records have to be counted anew */
  miscounted: string[]
}

const STUDY = jobAt<Model[], Overview>(import.meta.resolve('./overview.ts'))
const CARRY_OUT = jobAt<Change, TablePlan[]>(import.meta.resolve('./carry-out.ts'))

/** What the models ask for, and whether it can be done; nothing is changed, and nobody waits for it. */
export const planModels = (storage: Storage, models: Model[]): Promise<Overview> => storage.study(STUDY, models)

/** A plan that changes or moves data that is there, and so wants a backup first. */
export const isRisky = ({ steps }: TablePlan) => steps.some(({ kind }) => kind === 'rename' || kind === 'rebuild')

/**
 * Brings the tables in line with the models, all in one transaction, or none of it: then it is a `Refused`. Returns the
 * plans that were carried out.
 */
export async function migrate(
  storage: Storage,
  change: Change,
  swap?: () => void,
  patienceMs = PATIENCE_MS,
): Promise<TablePlan[]> {
  const start = Date.now()
  try {
    return await storage.change(CARRY_OUT, change, swap)
  } catch (error) {
    if (!(error instanceof StorageFault) || error.kind !== 'busy' || patienceMs < 0) throw error
    await setTimeout(100)
    return migrate(storage, change, swap, patienceMs - (Date.now() - start))
  }
}
