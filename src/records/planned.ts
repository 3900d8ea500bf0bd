import type { Operation } from '../model/access.ts'
import type { MaybePromise, Row, StorageFault, Unit } from '../storage/storage.ts'

/** A validated change that has not been written yet. */
export interface PlannedWrite<Result = unknown> {
  unit: Unit
  /** Builds the result from the rows of the unit's steps; if no row was written, throws the reason. */
  toResult(rows: Row[][]): MaybePromise<Result>
  /** Translates a storage fault into an error that names the model and its fields. */
  explain(fault: StorageFault): Promise<Error>
}

/** The record that a write looks for; used to explain why no row matched. */
export interface WriteTarget {
  id: number
  version: number
  operation: Operation
}
