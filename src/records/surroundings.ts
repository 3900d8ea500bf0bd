import type { Database } from '../database/database.ts'
import type { Cursors } from '../model/cursor.ts'
import type { Models } from '../model/model.ts'
import type { Row } from '../tables/columns.ts'

export type Stored = Row & { id: number; version: number }

/** What the records of a model need to know beside the model. */
export interface Surroundings {
  db: Database
  models: Models
  cursors: Cursors
  /** told, once per shape of query, which index would help */
  advise(advice: string): void
}
