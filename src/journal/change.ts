import type { JournalOperation } from './entry.ts'

/** One change of a record of any model. */
export interface Change {
  change: number
  model: string
  id: number
  version: number
  operation: JournalOperation | 'leave'
  by: string | null
  at: string
  batch?: number
  /** names of the changed fields */
  fields: string[]
}

/** A change with the record's owner, for users who may read only their own records. */
export interface OwnedChange extends Change {
  createdBy: string | null
}
