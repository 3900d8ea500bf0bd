import type { Access } from '../filters/access.ts'
import type { Models } from '../model/model.ts'
import type { Cursors } from '../requests/cursor.ts'
import type { Row, Storage } from '../storage/storage.ts'
import type { UserLimits } from './user-limits.ts'

export type StoredRecord = Row & { id: number; version: number }

/** Dependencies and limits shared by the records of all models. */
export interface RecordsContext {
  storage: Storage
  models: Models
  access: Access
  cursors: Cursors
  limits: Pick<UserLimits, 'history'>
  /** time limit of a find */
  findSeconds: number
  /** time limit of an export */
  exportSeconds: number
  /** maximum length of a record in a request or an import file, in characters */
  maxRecordLength: number
  /** Receives the index that would speed up a find; called once per query shape. */
  advise(advice: string): void
}
