import type { Model } from '../../model/model.ts'
import type { Database } from '../../storage/storage.ts'
import type { TablePlan } from '../plan.ts'
import type { Draft } from './draft.ts'

/** A strategy to rewrite tables whose columns change. `strategies.ts` chooses one by the engine's dialect. */
export interface Rebuilder {
  /** Whether triggers of tables that do not change may stay while other tables are changed. */
  readonly keepsOtherTriggers: boolean
  /** Creates an empty draft of every table that has to be copied; none where tables are changed in place. */
  begin(db: Database, models: Model[], token: string): Promise<Draft[]>
  /** Names of drafts that a process left behind. */
  readLeftovers(db: Database): Promise<string[]>
  /** Drops all drafts, where there can be any. */
  discard?(db: Database): Promise<void>
  /** Executes plans inside the transaction that changes tables. */
  apply(db: Database, plans: TablePlan[], drafts: Draft[]): Promise<void>
  /** Throws `Refused` if a rewritten table refers to records that do not exist. */
  refuseDangling(db: Database, models: Model[]): Promise<void>
}
