import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { nextPortion } from '../lib/next-portion.ts'
import type { Model } from '../model/model.ts'
import { defineJob, isFault, isStale, Refused, type Storage } from '../storage/storage.ts'
import { type MigrationPlan, throwIfRefused } from './migration-plan.ts'
import type { TablePlan } from './plan.ts'
import type { BuildInput } from './rebuild/build-indexes.ts'
import type { Draft } from './rebuild/draft.ts'
import type { Portion } from './rebuild/draft-jobs.ts'
import { rebuilderFor } from './rebuild/strategies.ts'

/** How long `migrate` retries while another process is changing the same tables. */
const BUSY_TIMEOUT_MS = 600_000
/** How long an index waits for other transactions before the service listens. */
const START_LOCK_MS = 3000
const MAX_PAUSE_MS = 200
/**
 * How long the first attempts at the last step wait for a lock; further ones wait as long as the last of these. Others
 * queue behind it meanwhile, so the pauses between attempts are longer.
 */
const LOCK_MS = [200, 200, 400, 400, 700]
/** Attempts before a `stale` fault is thrown: others may change a table while its draft is filled. */
const MAX_ATTEMPTS = 5
const FIRST_PORTION = 100
/** Interval of touching a draft during a backup; must be below `ABANDONED_MS` in `rebuild/draft.ts`. */
const TOUCH_MS = 1000
const MAX_PORTION = 10_000

/** Input of the job in `apply.ts`. */
export interface MigrationInput {
  models: Model[]
  /** names of models whose records have to be recounted */
  miscounted: string[]
  /** filled copies of the tables that have to be rebuilt */
  drafts: Draft[]
  /** names of indexes that have been created beforehand */
  built: string[]
  /** set if the models are those that were published last: if others have been published since, nothing is changed */
  generation?: number | undefined
}

/** Thrown if another node has published models since this change was prepared. */
export class Superseded extends Error {
  constructor() {
    super('Another node has published other models meanwhile.')
  }
}

/** How a migration is coordinated with the rest of the process. */
export interface MigrateOptions {
  /** called when the last step is done, before its commit: all threads keep what they see until `swap` */
  beforeCommit?: () => Promise<void>
  /** called right after the commit, before this process reads any of the changes */
  swap?: () => void
  /** called when all drafts are filled and no existing table has been changed yet: makes a backup */
  beforeLastStep?: (() => Promise<void>) | undefined
  /** runs `lastStep` while writes to the changing models wait */
  hold?: (lastStep: () => Promise<TablePlan[]>) => Promise<TablePlan[]>
  /** called after each portion of a draft */
  onProgress?: (model: string, percent: number) => void
  /** see `MigrationInput` */
  generation?: number | undefined
  /** the service does not listen yet: it waits only shortly for other transactions, then creates indexes with a lock */
  isStarting?: boolean
  /** aborts the migration between two steps */
  signal?: AbortSignal
  busyTimeoutMs?: number
  /** called if something failed that is tried again with the next change */
  onError?: (error: unknown) => void
}

const PLAN_MIGRATION = defineJob<Model[], MigrationPlan>(import.meta.resolve('./migration-plan.ts'), 'planMigrationJob')
const DRAFTS = import.meta.resolve('./rebuild/draft-jobs.ts')
const BEGIN_DRAFTS = defineJob<{ models: Model[]; token: string }, Draft[]>(DRAFTS, 'beginDrafts')
const FILL_PORTION = defineJob<{ draft: Draft; rows: number }, Portion>(DRAFTS, 'fillPortion', 'snapshot')
const REFUSE_DUPLICATES = defineJob<Draft[], void>(DRAFTS, 'refuseDuplicates')
const DISCARD_DRAFTS = defineJob<string, void>(DRAFTS, 'discardOwn')
const INDEXES = import.meta.resolve('./rebuild/build-indexes.ts')
const BUILD_INDEXES = defineJob<BuildInput, string[]>(INDEXES, 'buildIndexes', 'no transaction')
const DROP_INDEXES = defineJob<string[], void>(INDEXES, 'dropIndexes', 'no transaction')
const VALIDATE_REFERENCES = defineJob<undefined, void>(INDEXES, 'validateReferences', 'no transaction')
const APPLY_MIGRATION = defineJob<MigrationInput, TablePlan[]>(import.meta.resolve('./apply.ts'), 'applyMigration')

/** Plans and verifies the changes that the models need. Changes nothing and blocks no writes. */
export const planMigration = (storage: Storage, models: Model[]): Promise<MigrationPlan> =>
  storage.runReadJob(PLAN_MIGRATION, models)

/**
 * Whether a dead process has left drafts or unfinished indexes. False without `runExclusively`, and while another
 * process changes tables.
 */
export async function hasLeftovers(storage: Storage): Promise<boolean> {
  const findLeftovers = async () => (await rebuilderFor(storage.dialect.tables).readLeftovers(storage.db)).length > 0
  try {
    return (await storage.runExclusively?.(findLeftovers)) ?? false
  } catch (error) {
    if (isFault(error, 'busy')) return false
    throw error
  }
}

/** Whether a plan renames or rewrites existing data, so that a backup should come first. */
export const isRisky = ({ steps }: TablePlan) => steps.some(({ kind }) => kind === 'rename' || kind === 'rebuild')

/**
 * Brings the tables in line with the models, in one transaction at the end. Throws `Refused`, and changes nothing, if
 * data would be lost or broken. Returns the applied plans.
 */
export async function migrate(
  storage: Storage,
  models: Model[],
  options: MigrateOptions = {},
  miscounted: string[] = [],
): Promise<TablePlan[]> {
  const end = performance.now() + (options.busyTimeoutMs ?? BUSY_TIMEOUT_MS)
  let staleAttempts = 0
  const isWorthAnotherTry = (error: unknown) => {
    if (isStale(error)) return ++staleAttempts < MAX_ATTEMPTS
    return isFault(error, 'busy') && performance.now() < end
  }
  for (;;) {
    options.signal?.throwIfAborted()
    try {
      const run = () => attempt(storage, models, options, miscounted)
      return await (storage.runExclusively ? storage.runExclusively(run) : run())
    } catch (error) {
      if (!isWorthAnotherTry(error)) throw error
      await sleep(100)
    }
  }
}

async function attempt(storage: Storage, models: Model[], options: MigrateOptions, miscounted: string[]) {
  const { buildsIndexesBefore } = rebuilderFor(storage.dialect.tables)
  // `busy`: another node does this work now, or the next change will.
  const tellUnlessBusy = (error: unknown) => {
    if (!isFault(error, 'busy')) options.onError?.(error)
  }
  const { signal, isStarting = false } = options
  const waits = { lockMs: isStarting ? START_LOCK_MS : BUSY_TIMEOUT_MS, ...(signal && { signal }) }
  // At a start, an index that cannot be built now is left to `apply.ts`.
  const built = buildsIndexesBefore
    ? await storage.runWriteJob(BUILD_INDEXES, { models, isOptional: isStarting }, waits)
    : []
  try {
    const plans = await copyAndApply(storage, models, options, { miscounted, built })
    if (buildsIndexesBefore) await storage.runWriteJob(VALIDATE_REFERENCES, undefined).catch(tellUnlessBusy)
    return plans
  } catch (error) {
    // If this fails too, the next change drops what no model needs.
    if (built.length > 0) await storage.runWriteJob(DROP_INDEXES, built).catch(tellUnlessBusy)
    throw error
  }
}

async function copyAndApply(
  storage: Storage,
  models: Model[],
  options: MigrateOptions,
  given: Pick<MigrationInput, 'miscounted' | 'built'>,
): Promise<TablePlan[]> {
  const token = randomUUID()
  const drafts = await storage.runWriteJob(BEGIN_DRAFTS, { models, token })
  try {
    for (const draft of drafts) await fillUp(storage, draft, options)
    await keepDraftsAlive(storage, drafts, options.beforeLastStep)
    const { generation } = options
    return await applyWhenFree(storage, { models, drafts, generation, ...given }, options)
  } catch (error) {
    if (drafts.length === 0) throw error
    const reason = await explain(storage, models, drafts, error)
    // If this fails too, the next migration drops the abandoned drafts.
    await storage.runWriteJob(DISCARD_DRAFTS, token).catch(() => {})
    throw reason
  }
}

/** Executes the last step, again and again while others use a table. Drafts stay filled meanwhile. */
async function applyWhenFree(storage: Storage, input: MigrationInput, options: MigrateOptions): Promise<TablePlan[]> {
  const { hold = (lastStep) => lastStep(), beforeCommit, swap: afterCommit, signal } = options
  const end = performance.now() + (options.busyTimeoutMs ?? BUSY_TIMEOUT_MS)
  for (let nth = 0; ; nth++) {
    const lockMs = LOCK_MS[Math.min(nth, LOCK_MS.length - 1)] as number
    try {
      return await hold(() => storage.runWriteJob(APPLY_MIGRATION, input, { beforeCommit, afterCommit, lockMs }))
    } catch (error) {
      if (!isFault(error, 'busy') || performance.now() > end) throw error
    }
    await sleep(2 * lockMs)
    signal?.throwIfAborted()
    for (const draft of input.drafts) await fillUp(storage, draft, options)
  }
}

/** Runs `work` and touches a draft meanwhile, so that no other process takes the drafts for abandoned. */
async function keepDraftsAlive(storage: Storage, [draft]: Draft[], work?: () => Promise<void>): Promise<void> {
  if (!draft || !work) return work?.()
  // A failure is ignored: if the draft is gone, the last step throws.
  const touch = () => Promise.allSettled([storage.runWriteJob(FILL_PORTION, { draft, rows: 1 })])
  const timer = setInterval(touch, TOUCH_MS)
  try {
    await Promise.all([touch(), work()])
  } finally {
    clearInterval(timer)
  }
}

/** Fills a draft. Portions grow until one takes about `portionMs`: in SQLite other writes wait for as long. */
async function fillUp(storage: Storage, draft: Draft, { signal, onProgress }: MigrateOptions): Promise<void> {
  const { portionMs } = rebuilderFor(storage.dialect.tables)
  let rows = FIRST_PORTION
  for (let isFull = false; !isFull; ) {
    signal?.throwIfAborted()
    const portion = await storage.runWriteJob(FILL_PORTION, { draft, rows })
    isFull = portion.isFull
    rows = nextPortion(rows, portion.milliseconds, portionMs, MAX_PORTION)
    // Pauses for as long as the portion took: processes that poll for the write lock would rarely find it free.
    await sleep(Math.min(portion.milliseconds, MAX_PAUSE_MS))
    onProgress?.(draft.model.name, Math.min(100, Math.floor((100 * portion.to) / draft.last)))
  }
}

/** Filling a draft stops at the first offending record; `planMigration` checks all records and names the others too. */
async function explain(storage: Storage, models: Model[], drafts: Draft[], error: unknown): Promise<unknown> {
  const isTaken = isFault(error, 'taken')
  if (!isTaken && !(error instanceof Refused)) return error
  try {
    throwIfRefused(await planMigration(storage, models))
    // Computed values exist only in the drafts, so `planMigration` cannot find duplicates among them.
    if (isTaken) await storage.runWriteJob(REFUSE_DUPLICATES, drafts)
  } catch (refused) {
    return refused
  }
  return error
}
