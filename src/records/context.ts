import type { Models } from '../model/model.ts'
import type { Cursors } from '../requests/cursor.ts'
import type { Row, Storage } from '../storage/storage.ts'
import type { UserLimits } from './user-limits.ts'

export type Stored = Row & { id: number; version: number }

/** What the records of a model need to know beside the model. */
export interface RecordsContext {
  storage: Storage
  models: Models
  cursors: Cursors
  limits: Pick<UserLimits, 'history'>
  /** how long a find may take */
  findSeconds: number
  /** how long an export may take */
  exportSeconds: number
  /** characters of a record that is sent, at most */
  longestRecord: number
  /** told, once per shape of query, which index would help */
  advise(advice: string): void
}
