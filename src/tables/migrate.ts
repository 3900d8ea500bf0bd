import { randomUUID } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { nextPortion } from '../lib/portions.ts'
import type { Model } from '../model/model.ts'
import { defineJob, Refused, type Storage, StorageFault } from '../storage/storage.ts'
import { type Overview, refuse } from './overview.ts'
import type { TablePlan } from './plan.ts'
import type { Draft } from './rebuild/draft.ts'
import type { Portion } from './rebuild/draft-jobs.ts'

/** How long to wait for another process that is changing the same tables. */
const PATIENCE_MS = 600_000
/** How long others' writes may have to wait for a portion of a draft, about. */
const PORTION_MS = 30
const MAX_PAUSE_MS = 200
/** How often a draft is begun again because of what others did to its table. */
const MAX_ATTEMPTS = 5
const FIRST_PORTION = 100
const TOUCH_MS = 1000
const LARGEST_PORTION = 10_000

/** What is carried out. */
export interface MigrationInput {
  models: Model[]
  /** names of models whose records have to be counted anew */
  miscounted: string[]
  /** tables that have been made anew */
  drafts: Draft[]
}

/** How a change goes together with all else. */
export interface MigrateOptions {
  /** called right after the commit, before anybody sees what has changed */
  swap?: () => void
  /** when all is prepared, and before anything that is there is changed: for a backup */
  beforeLastStep?: (() => Promise<void>) | undefined
  /** lets nobody write to what is changed, while the last step is taken */
  hold?: (lastStep: () => Promise<TablePlan[]>) => Promise<TablePlan[]>
  /** told how far a table is that is made anew */
  onProgress?: (model: string, percent: number) => void
  /** gives up between two steps */
  signal?: AbortSignal
  patienceMs?: number
}

const OVERVIEW = defineJob<Model[], Overview>(import.meta.resolve('./overview.ts'))
const DRAFTS = import.meta.resolve('./rebuild/draft-jobs.ts')
const BEGIN = defineJob<{ models: Model[]; token: string }, Draft[]>(DRAFTS, 'beginDrafts')
const FILL = defineJob<{ draft: Draft; rows: number }, Portion>(DRAFTS, 'fillPortion')
const REFUSE_SHARED = defineJob<Draft[], void>(DRAFTS, 'refuseShared')
const DISCARD = defineJob<string, void>(DRAFTS, 'discardOwn')
const APPLY = defineJob<MigrationInput, TablePlan[]>(import.meta.resolve('./apply.ts'))

/** What the models ask for, and whether it can be done; nothing is changed, and nobody waits for it. */
export const planModels = (storage: Storage, models: Model[]): Promise<Overview> => storage.runReadJob(OVERVIEW, models)

/** A plan that changes or moves data that is there, and so wants a backup first. */
export const isRisky = ({ steps }: TablePlan) => steps.some(({ kind }) => kind === 'rename' || kind === 'rebuild')

/**
 * Brings the tables in line with the models: all at once, in one transaction at the end, or not at all; then it is a
 * `Refused`. Returns the plans that were carried out.
 */
export async function migrate(
  storage: Storage,
  models: Model[],
  course: MigrateOptions = {},
  miscounted: string[] = [],
): Promise<TablePlan[]> {
  const end = performance.now() + (course.patienceMs ?? PATIENCE_MS)
  let begun = 0
  const isWorthAnotherTry = (error: unknown) => {
    if (isFault(error, 'stale')) return ++begun < MAX_ATTEMPTS
    return isFault(error, 'busy') && performance.now() < end
  }
  for (;;) {
    course.signal?.throwIfAborted()
    try {
      return await attempt(storage, models, course, miscounted)
    } catch (error) {
      if (!isWorthAnotherTry(error)) throw error
      await setTimeout(100)
    }
  }
}

async function attempt(storage: Storage, models: Model[], course: MigrateOptions, miscounted: string[]) {
  const token = randomUUID()
  const drafts = await storage.change(BEGIN, { models, token })
  const lastStep = () => storage.change(APPLY, { models, miscounted, drafts }, course.swap)
  try {
    for (const draft of drafts) await fillUp(storage, draft, course)
    await stayingThere(storage, drafts, course.beforeLastStep)
    return await (course.hold ? course.hold(lastStep) : lastStep())
  } catch (error) {
    if (drafts.length === 0) throw error
    const reason = await explain(storage, models, drafts, error)
    // If not even this is possible, whoever changes tables next clears it away.
    await storage.change(DISCARD, token).catch(() => {})
    throw reason
  }
}

/** While something else is done, nobody must take the drafts for abandoned. */
async function stayingThere(storage: Storage, [draft]: Draft[], work?: () => Promise<void>): Promise<void> {
  if (!draft || !work) return work?.()
  // If it fails, the last step will tell.
  const touch = () => Promise.allSettled([storage.change(FILL, { draft, rows: 1 })])
  const timer = setInterval(touch, TOUCH_MS)
  try {
    await Promise.all([touch(), work()])
  } finally {
    clearInterval(timer)
  }
}

/** Portions grow until they take as long as somebody may have to wait for one. */
async function fillUp(storage: Storage, draft: Draft, { signal, onProgress }: MigrateOptions): Promise<void> {
  let rows = FIRST_PORTION
  for (let isFull = false; !isFull; ) {
    signal?.throwIfAborted()
    const portion = await storage.change(FILL, { draft, rows })
    isFull = portion.isFull
    rows = nextPortion(rows, portion.milliseconds, PORTION_MS, LARGEST_PORTION)
    // As long as it took: else processes that look for a gap every now and then would not find one.
    await setTimeout(Math.min(portion.milliseconds, MAX_PAUSE_MS))
    onProgress?.(draft.model.name, Math.min(100, Math.floor((100 * portion.to) / draft.last)))
  }
}

const isFault = (error: unknown, kind: StorageFault['kind']) => error instanceof StorageFault && error.kind === kind

/** A draft meets the first record at fault; a look at all of them names the others as well. */
async function explain(storage: Storage, models: Model[], drafts: Draft[], error: unknown): Promise<unknown> {
  const isTaken = isFault(error, 'taken')
  if (!isTaken && !(error instanceof Refused)) return error
  try {
    refuse(await planModels(storage, models))
    // What is computed is not there before it is made.
    if (isTaken) await storage.change(REFUSE_SHARED, drafts)
  } catch (refused) {
    return refused
  }
  return error
}
