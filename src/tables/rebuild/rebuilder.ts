import type { Model } from '../../model/model.ts'
import type { Database } from '../../storage/storage.ts'
import type { TablePlan } from '../plan.ts'
import type { Draft } from './draft.ts'

/** A strategy to rewrite tables whose columns change. `strategies.ts` chooses one by the engine's dialect. */
export interface Rebuilder {
  /** Whether triggers of tables that do not change may stay while other tables are changed. */
  readonly keepsOtherTriggers: boolean
  /** Target duration of one portion of a draft. */
  readonly portionMs: number
  /** Whether `build-indexes.ts` creates the indexes of large tables beforehand. */
  readonly buildsIndexesBefore: boolean
  /** Creates an empty draft of every table that has to be copied. */
  begin(db: Database, models: Model[], token: string): Promise<Draft[]>
  /** Names of drafts and indexes that a process left behind. */
  readLeftovers(db: Database): Promise<string[]>
  /** Called when a draft equals its table; others may write to the table again later. */
  onFilled(db: Database, draft: Draft): Promise<void>
  /**
   * Called in the transaction that changes tables: from now on nobody else writes to tables whose data matters for
   * their plan. Returns their models, if others may have written to them before.
   */
  lock(db: Database, plans: TablePlan[]): Promise<Model[]>
  /** Copies the rest inside the transaction that changes tables. */
  finish(db: Database, drafts: Draft[]): Promise<void>
  /** Executes plans inside the transaction that changes tables, except the creation of indexes that are `built`. */
  apply(db: Database, plans: TablePlan[], drafts: Draft[], built: string[]): Promise<void>
  /** Throws `Refused` if a rewritten table refers to records that do not exist. */
  refuseDangling(db: Database, plans: TablePlan[]): Promise<void>
}
