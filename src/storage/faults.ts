/** Why something could not be done, in the house's own words. */
export type FaultKind =
  /** a unique value is somebody else's */
  | 'taken'
  /** something would refer to nothing */
  | 'dangling'
  /** there is no room left */
  | 'full'
  /** somebody else is changing the data */
  | 'busy'
  /** a table or a column is not there any more */
  | 'missing-table'
  /** a unit was made for another shape of a table */
  | 'stale'
  /** a step that must return a row has not */
  | 'no-row'
  /** what a unit would return is larger than it may be */
  | 'large'
  /** a search took too long */
  | 'slow'
  /** a value is too long for its index */
  | 'index-too-long'
  /** a row, or a table, would be wider than it can be */
  | 'row-too-wide'
  /** a text that cannot be kept, nor compared with what is */
  | 'unfit'
  /** nobody waits for the search any more */
  | 'cancelled'
  /** the database file itself is broken: what is asked for cannot be read */
  | 'damaged'
  /** it is not known whether something was written: the connection was lost before that was told */
  | 'commit-unknown'

/** What a trigger raises where a foreign key would not hold: the same fault. */
export const DANGLING = 'records that are not served refer to this'

export interface FaultDetails {
  /** of what is taken: the index, or the columns */
  index?: string
  columns?: string[]
  /** which step of a unit it was */
  step?: number
}

export class StorageFault extends Error {
  readonly kind: FaultKind
  readonly details: FaultDetails

  constructor(kind: FaultKind, message: string, details: FaultDetails = {}) {
    super(message)
    this.name = 'StorageFault'
    this.kind = kind
    this.details = details
  }
}

/** Whether an error says that the database cannot be used just now: what failed is worth another try. */
export const isUnavailable = (error: unknown): boolean =>
  error instanceof StorageFault && (error.kind === 'busy' || error.kind === 'commit-unknown')

/** The table is not any more what something was made for: nothing is read or written through an old model. */
export const staleShape = () => new StorageFault('stale', 'The table has another shape by now.')

export const cancelled = () => new StorageFault('cancelled', 'Nobody waits for this.')

/** A change that would lose or break data. Nothing has been changed; the message has a line for each reason. */
export class Refused extends Error {
  readonly reasons: string[]

  constructor(reasons: string[]) {
    super(reasons.join('\n'))
    this.name = 'Refused'
    this.reasons = reasons
  }
}

/** The database cannot be used as it is. The message says what to do. */
export class DatabaseError extends Error {}

/** What the system says of a disk, in the house's own words. */
export const asDiskFull = (error: unknown): unknown =>
  NO_ROOM.includes(String((error as NodeJS.ErrnoException).code))
    ? new StorageFault('full', 'The disk is full.')
    : error

/** Also where a quota, or the size of a file, is what is used up. */
const NO_ROOM = ['ENOSPC', 'EDQUOT', 'EFBIG']
