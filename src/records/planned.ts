import type { Operation } from '../model/access.ts'
import type { MaybePromise, Row, StorageFault, Unit } from '../storage/storage.ts'

/** A change that has been found right. */
export interface Planned<Result = unknown> {
  unit: Unit
  /** what is answered, from the rows of its steps; where there are none, why not is thrown */
  settle(rows: Row[][]): MaybePromise<Result>
  /** what storage found wrong with it, in the words of the models */
  explain(fault: StorageFault): Promise<Error>
}

/** Which record it was about, where there is none to write. */
export interface Sought {
  id: number
  version: number
  operation: Operation
}
