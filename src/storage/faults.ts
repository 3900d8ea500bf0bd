/** Reasons for a failure, independent of the engine. */
export type FaultKind =
  /** another record already has a unique value */
  | 'taken'
  /** a reference would point to a record that does not exist */
  | 'dangling'
  /** the disk is full */
  | 'full'
  /** the database is locked, overloaded, unreachable or closed; a retry may succeed */
  | 'busy'
  /** a table or a column no longer exists */
  | 'missing-table'
  /** a unit or search was made for another shape of a table */
  | 'stale'
  /** a step with `mustReturnRow` returned no row */
  | 'no-row'
  /** a unit, the rows that it returns, or on PostgreSQL a number that SQL calculates, exceeds its limit */
  | 'large'
  /** a search, or on PostgreSQL any statement, took too long */
  | 'slow'
  /** a value is too long for its index */
  | 'index-too-long'
  /** a row or a table would be wider than the engine allows */
  | 'row-too-wide'
  /** a text that the engine can neither store nor compare, with a null character for example */
  | 'unfit'
  /** the search was aborted */
  | 'cancelled'
  /** the database is corrupt, so the data cannot be read */
  | 'damaged'
  /** the connection was lost before the commit was confirmed, so the unit may or may not be written */
  | 'commit-unknown'

/** Message that a trigger raises to refuse a delete; `toFault` turns it into a `dangling` fault. */
export const DANGLING = 'records that are not served refer to this'

export interface FaultDetails {
  /** for `taken`, the violated index or its columns */
  index?: string
  columns?: string[]
  /** index of the step of the unit that failed */
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

export const isFault = (error: unknown, kind: FaultKind): error is StorageFault =>
  error instanceof StorageFault && error.kind === kind

/** Whether an error means that the database cannot be used at present, so that a retry may succeed. */
export const isUnavailable = (error: unknown): boolean =>
  error instanceof StorageFault && (error.kind === 'busy' || error.kind === 'commit-unknown')

/** Whether an error means that a table has changed since a statement was made. It was not executed. */
export const isStale = (error: unknown): boolean =>
  error instanceof StorageFault && (error.kind === 'stale' || error.kind === 'missing-table')

/** The fault of a statement that was made for another shape of a table. It is not executed. */
export const staleFault = () => new StorageFault('stale', 'The table has another shape by now.')

export const cancelledFault = () => new StorageFault('cancelled', 'Nobody waits for this.')

/** A change of tables that would lose or break data. Nothing has been changed; the message has one line per reason. */
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

/** Converts a system error that means a full disk to a `full` fault; returns any other error unchanged. */
export const asDiskFull = (error: unknown): unknown =>
  NO_ROOM.includes(String((error as NodeJS.ErrnoException).code))
    ? new StorageFault('full', 'The disk is full.')
    : error

/** Error codes for a full disk, an exhausted quota and the maximum file size. */
const NO_ROOM = ['ENOSPC', 'EDQUOT', 'EFBIG']
