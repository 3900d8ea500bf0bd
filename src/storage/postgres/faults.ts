import { DatabaseError, StorageFault, staleFault } from '../storage.ts'

/** Error code that `dossier_require` raises if a table has another shape than the unit was made for. */
export const STALE = 'DS001'

/** The server shuts down, or somebody has ended the session: the server closes the connection after this error. */
const SERVER_CLOSING_CODES = ['57P01', '57P02', '57P03']
/** The server is closing, is read-only or the connection is lost: the work can be tried on another connection. */
const CONNECTION_UNUSABLE_CODES = [...SERVER_CLOSING_CODES, '25006', '08000', '08003', '08006']
const BUSY = ['55P03', '40001', '40P01', '53300', ...CONNECTION_UNUSABLE_CODES]

/** data_corrupted, index_corrupted */
const DAMAGED = ['XX001', 'XX002']

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
  if (code === '23505') return new StorageFault('taken', message, takenIn(String(constraint)))
  // 27000: a trigger would change a record that the same delete removes by a cascade.
  if (code === '23503' || code === '27000') return new StorageFault('dangling', message)
  if (code === '22003') return new StorageFault('large', message)
  if (code === '54011' || /^row is too big/.test(message)) return new StorageFault('row-too-wide', message)
  if (code === '54000' && /^index row/.test(message)) return new StorageFault('index-too-long', message)
  if (code === '22021') return new StorageFault('unfit', message)
  if (code === STALE) return staleFault()
  if (DAMAGED.includes(code)) return new StorageFault('damaged', message)
  if (code === '53100') return new StorageFault('full', `There is no room left to store this (${message}).`)
  // The last one: the table was dropped while the catalog was read.
  if (code === '42703' || code === '42P01' || /^could not open relation with OID/.test(message))
    return new StorageFault('missing-table', message)
  if (code === '57014') return new StorageFault('slow', 'The statement took too long.')
  if (BUSY.includes(code) || isConnectionLost(error))
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
 * statement no longer fits its table (0A000) or is gone (26000).
 */
export const isRetryable = (error: unknown): boolean =>
  ['40001', '40P01', '0A000', '26000'].includes(String((error as PostgresError | undefined)?.code))

/** Whether the wait for a lock on a row or a table has timed out. */
export const isLockTimeout = (error: unknown): boolean => (error as PostgresError).code === '55P03'

/** Whether `dossier_require` has met a table that is being changed: nothing of the unit was executed. */
export const isTableLocked = (error: unknown): boolean =>
  isLockTimeout(error) && /function dossier_require\(/.test(String((error as PostgresError).where))

/** Converts an error from opening a database to a `DatabaseError` that tells the operator what to do. */
export function explainOpening(url: string, error: unknown): unknown {
  if (error instanceof DatabaseError) return error
  const { code = '', message } = error as PostgresError
  const place = hostAndName(url)
  const cannot = (why: string) => new DatabaseError(`The database at ${place} cannot be used: ${why}`)
  if (code === '28P01' || code === '28000') return cannot(`the user is not let in (${message}). Check DATABASE_URL.`)
  if (code === '3D000') return cannot(`there is no such database (${message}). Create it, or check DATABASE_URL.`)
  if (code === '42501')
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
