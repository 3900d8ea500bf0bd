import { DatabaseError, StorageFault, staleFault } from '../storage.ts'

/** Error code that `dossier_require` raises if a table has another shape than the unit was made for. */
export const STALE = 'DS001'

/** Error codes of PostgreSQL that are told apart here, by their names in its documentation. */
export const SQLSTATE = {
  connection_exception: '08000',
  connection_does_not_exist: '08003',
  connection_failure: '08006',
  feature_not_supported: '0A000',
  character_not_in_repertoire: '22021',
  numeric_value_out_of_range: '22003',
  foreign_key_violation: '23503',
  unique_violation: '23505',
  read_only_sql_transaction: '25006',
  invalid_sql_statement_name: '26000',
  triggered_data_change_violation: '27000',
  invalid_authorization_specification: '28000',
  invalid_password: '28P01',
  invalid_catalog_name: '3D000',
  serialization_failure: '40001',
  deadlock_detected: '40P01',
  insufficient_privilege: '42501',
  undefined_column: '42703',
  undefined_table: '42P01',
  disk_full: '53100',
  too_many_connections: '53300',
  program_limit_exceeded: '54000',
  too_many_columns: '54011',
  lock_not_available: '55P03',
  query_canceled: '57014',
  admin_shutdown: '57P01',
  crash_shutdown: '57P02',
  cannot_connect_now: '57P03',
  data_corrupted: 'XX001',
  index_corrupted: 'XX002',
}

/** The server shuts down, or somebody has ended the session: the server closes the connection after this error. */
const SERVER_CLOSING_CODES = [SQLSTATE.admin_shutdown, SQLSTATE.crash_shutdown, SQLSTATE.cannot_connect_now]
/** The server is closing, is read-only or the connection is lost: the work can be tried on another connection. */
const CONNECTION_UNUSABLE_CODES = [
  ...SERVER_CLOSING_CODES,
  SQLSTATE.read_only_sql_transaction,
  SQLSTATE.connection_exception,
  SQLSTATE.connection_does_not_exist,
  SQLSTATE.connection_failure,
]
const BUSY_CODES = [
  SQLSTATE.lock_not_available,
  SQLSTATE.serialization_failure,
  SQLSTATE.deadlock_detected,
  SQLSTATE.too_many_connections,
  ...CONNECTION_UNUSABLE_CODES,
]
const DAMAGED_CODES = [SQLSTATE.data_corrupted, SQLSTATE.index_corrupted]
/** A prepared statement no longer fits its table, or is gone. */
const STATEMENT_STALE_CODES = [SQLSTATE.feature_not_supported, SQLSTATE.invalid_sql_statement_name]
const RETRYABLE_CODES = [SQLSTATE.serialization_failure, SQLSTATE.deadlock_detected, ...STATEMENT_STALE_CODES]

interface PostgresError {
  code?: string
  message: string
  constraint?: string
  /** the functions in which it was raised */
  where?: string
  /** set only if the server sent the error, not the driver or the system */
  severity?: string
}

/** Converts an error of PostgreSQL to a `StorageFault`; returns any other error unchanged. */
export function toFault(error: unknown): unknown {
  const { code = '', message, constraint } = error as PostgresError
  if (error instanceof StorageFault) return error
  if (code === SQLSTATE.unique_violation) return new StorageFault('taken', message, takenIn(String(constraint)))
  // The second: a trigger would change a record that the same delete removes by a cascade.
  if (code === SQLSTATE.foreign_key_violation || code === SQLSTATE.triggered_data_change_violation)
    return new StorageFault('dangling', message)
  if (code === SQLSTATE.numeric_value_out_of_range) return new StorageFault('large', message)
  if (code === SQLSTATE.too_many_columns || /^row is too big/.test(message))
    return new StorageFault('row-too-wide', message)
  if (code === SQLSTATE.program_limit_exceeded && /^index row/.test(message))
    return new StorageFault('index-too-long', message)
  if (code === SQLSTATE.character_not_in_repertoire) return new StorageFault('unfit', message)
  if (code === STALE) return staleFault()
  if (DAMAGED_CODES.includes(code)) return new StorageFault('damaged', message)
  if (code === SQLSTATE.disk_full) return new StorageFault('full', `There is no room left to store this (${message}).`)
  const isMissing = code === SQLSTATE.undefined_column || code === SQLSTATE.undefined_table
  // The message says that the table was dropped while the catalog was read.
  if (isMissing || /^could not open relation with OID/.test(message)) return new StorageFault('missing-table', message)
  if (code === SQLSTATE.query_canceled) return new StorageFault('slow', 'The statement took too long.')
  if (BUSY_CODES.includes(code) || isConnectionLost(error))
    return new StorageFault('busy', `The database cannot be used now (${message}).`)
  return error
}

const takenIn = (constraint: string) => (constraint.endsWith('_pkey') ? { columns: ['id'] } : { index: constraint })

/** Whether the connection is lost, according to the system or the driver, or the server is shutting down. */
export function isConnectionLost(error: unknown): boolean {
  const { code = '', message, severity } = error as PostgresError
  if (error instanceof StorageFault) return false
  if (CONNECTION_UNUSABLE_CODES.includes(code)) return true
  // A message of the server may contain any word, so only those of the driver are matched.
  const isDriver = severity === undefined
  return isDriver && (/^E[A-Z_]+$/.test(code) || /^Connection terminated|not queryable|timeout/.test(message))
}

/** Whether the server closes the connection after this error. */
export const isClosing = (error: unknown): boolean =>
  SERVER_CLOSING_CODES.includes(String((error as PostgresError | null)?.code))

/** Whether the server itself has rejected the statements, so that certainly nothing was written. */
export function isRejectedByServer(error: unknown): boolean {
  const { severity, code = '' } = error as PostgresError
  return severity === 'ERROR' && !CONNECTION_UNUSABLE_CODES.includes(code)
}

/**
 * Whether a retry may succeed, as nothing was written: after a serialization failure or a deadlock, or if a prepared
 * statement is stale.
 */
export const isRetryable = (error: unknown): boolean =>
  RETRYABLE_CODES.includes(String((error as PostgresError | undefined)?.code))

/** Whether the wait for a lock on a row or a table has timed out. */
export const isLockTimeout = (error: unknown): boolean => (error as PostgresError).code === SQLSTATE.lock_not_available

/** Whether `dossier_require` has met a table that is being changed: nothing of the unit was executed. */
export const isTableLocked = (error: unknown): boolean =>
  isLockTimeout(error) && /function dossier_require\(/.test(String((error as PostgresError).where))

/** Converts an error from opening a database to a `DatabaseError` that tells the operator what to do. */
export function explainOpening(url: string, error: unknown): unknown {
  if (error instanceof DatabaseError) return error
  const { code = '', message } = error as PostgresError
  const place = hostAndName(url)
  const cannot = (why: string) => new DatabaseError(`The database at ${place} cannot be used: ${why}`)
  if (code === SQLSTATE.invalid_password || code === SQLSTATE.invalid_authorization_specification)
    return cannot(`the user is not let in (${message}). Check DATABASE_URL.`)
  if (code === SQLSTATE.invalid_catalog_name)
    return cannot(`there is no such database (${message}). Create it, or check DATABASE_URL.`)
  if (code === SQLSTATE.insufficient_privilege)
    return cannot(`a right is missing (${message}). The user has to own the database, or may CREATE in its schema.`)
  if (code.startsWith('E') || isConnectionLost(error))
    return cannot(`it cannot be reached (${message}). Check DATABASE_URL.`)
  return error
}

/** Host and name of a database, without the password. */
function hostAndName(url: string): string {
  const { host, pathname } = new URL(url)
  return `${host}${pathname}`
}
