import { DatabaseError, StorageFault, staleShape } from '../storage.ts'

/** What a function of ours raises where a unit was made for another shape of a table. */
export const STALE = 'DS001'

/** The server is about to go, or only reads: what was not sent can be sent to another connection. */
const GOING = ['57P01', '57P02', '57P03', '25006', '08000', '08003', '08006']
const BUSY = ['55P03', '40001', '40P01', '53300', ...GOING]

/** data_corrupted, index_corrupted */
const DAMAGED = ['XX001', 'XX002']

interface PostgresError {
  code?: string
  message: string
  constraint?: string
  /** of what the server itself has said */
  severity?: string
}

/** What PostgreSQL says → what the house says. Any other error as it is. */
export function toFault(error: unknown): unknown {
  const { code = '', message, constraint } = error as PostgresError
  if (error instanceof StorageFault) return error
  if (code === '23505') return new StorageFault('taken', message, takenIn(String(constraint)))
  if (code === '23503') return new StorageFault('dangling', message)
  if (code === '54011' || /^row is too big/.test(message)) return new StorageFault('row-too-wide', message)
  if (code === '54000') return new StorageFault('index-too-long', message)
  if (code === '22021') return new StorageFault('unfit', message)
  if (code === STALE) return staleShape()
  if (DAMAGED.includes(code)) return new StorageFault('damaged', message)
  if (code === '53100') return new StorageFault('full', `There is no room left to store this (${message}).`)
  if (code === '42703' || code === '42P01') return new StorageFault('missing-table', message)
  if (code === '57014') return new StorageFault('slow', 'The search took too long.')
  if (BUSY.includes(code) || isLost(error))
    return new StorageFault('busy', `The database cannot be used now (${message}).`)
  return error
}

const takenIn = (constraint: string) => (constraint.endsWith('_pkey') ? { columns: ['id'] } : { index: constraint })

/** Whether the connection is gone: the system or the driver says so, or the server that it goes. */
export function isLost(error: unknown): boolean {
  const { code = '', message, severity } = error as PostgresError
  if (error instanceof StorageFault) return false
  if (GOING.includes(code)) return true
  // What the server itself says may have any word in it.
  const isDriver = severity === undefined
  return isDriver && (/^E[A-Z_]+$/.test(code) || /^Connection terminated|not queryable|timeout/.test(message))
}

/** Whether the server itself has refused something: then it is known that nothing of it was done. */
export function isRefused(error: unknown): boolean {
  const { severity, code = '' } = error as PostgresError
  return severity === 'ERROR' && !GOING.includes(code)
}

/** Whether the very same may well succeed when it is tried once more: nothing of it was done. */
export const isWorthAnotherTry = (error: unknown): boolean =>
  ['40001', '40P01', '0A000', '26000'].includes(String((error as PostgresError).code))

/** Whether somebody else has held a row or a table for too long. */
export const isHeld = (error: unknown): boolean => (error as PostgresError).code === '55P03'

/** What keeps a database from being opened → what an operator can do about it. */
export function explainOpening(url: string, error: unknown): unknown {
  if (error instanceof DatabaseError) return error
  const { code = '', message } = error as PostgresError
  const place = hostAndName(url)
  const cannot = (why: string) => new DatabaseError(`The database at ${place} cannot be used: ${why}`)
  if (code === '28P01' || code === '28000') return cannot(`the user is not let in (${message}). Check DATABASE_URL.`)
  if (code === '3D000') return cannot(`there is no such database (${message}). Create it, or check DATABASE_URL.`)
  if (code === '42501')
    return cannot(`a right is missing (${message}). The user has to own the database, or may CREATE in its schema.`)
  if (code.startsWith('E') || isLost(error)) return cannot(`it cannot be reached (${message}). Check DATABASE_URL.`)
  return error
}

/** Where a database is, without the password. */
function hostAndName(url: string): string {
  const { host, pathname } = new URL(url)
  return `${host}${pathname}`
}
