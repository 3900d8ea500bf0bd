import type { Access } from '../filters/access.ts'
import type { Model, Models } from '../model/model.ts'
import type { Cursors } from '../requests/cursor.ts'
import type { Row, Storage } from '../storage/storage.ts'
import type { Caller } from './caller.ts'
import type { KnownTotals } from './find/known-totals.ts'
import type { UserLimits } from './user-limits.ts'

export type StoredRecord = Row & { id: number; version: number }

/** The part of the unrestricted model's records that the records of a restricted model need. */
export interface UnrestrictedRecords {
  restore(id: number, restoring: RestoreRequest, caller: Caller): Promise<StoredRecord>
}

/** The body of a restore request. Both versions are required unless the record has been deleted. */
export interface RestoreRequest {
  /** the version that the client has read */
  version?: number
  /** the version to restore; for a deleted record, defaults to its last one */
  to?: number
}

/** Dependencies and limits shared by the records of all models. */
export interface RecordsContext {
  storage: Storage
  models: Models
  access: Access
  /** The records of a model with all its fields: a deleted one is restored with what its user does not see. */
  unrestrictedRecords?: ((model: Model) => UnrestrictedRecords) | undefined
  cursors: Cursors
  /** totals of searches that still hold */
  totals: KnownTotals
  limits: Pick<UserLimits, 'history'>
  /** time limit of a find */
  findSeconds: number
  /** time limit of an export */
  exportSeconds: number
  /** maximum length of a record in a request or an import file, in characters */
  maxRecordLength: number
  /** Receives the index that would speed up a find; called once per query, regardless of its values. */
  advise(advice: string): void
}
