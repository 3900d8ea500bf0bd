import { DANGLING, DatabaseError, type FaultDetails, StorageFault } from '../storage.ts'

/** Converts an error of SQLite to a `StorageFault`; returns any other error unchanged. */
export function toFault(error: unknown): unknown {
  const { code = '', message } = error as { code?: string; message: string }
  if (error instanceof StorageFault) return error
  if (code === 'SQLITE_CONSTRAINT_UNIQUE' || code === 'SQLITE_CONSTRAINT_PRIMARYKEY')
    return new StorageFault('taken', message, takenIn(message))
  if (code === 'SQLITE_CONSTRAINT_FOREIGNKEY' || message === DANGLING) return new StorageFault('dangling', message)
  if (isDamage(code)) return new StorageFault('damaged', message)
  if (code === 'SQLITE_FULL') return new StorageFault('full', `There is no room left to store this (${message}).`)
  if (code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED'))
    return new StorageFault('busy', `Another process is changing the database (${message}). Try again when it is done.`)
  if (code === 'SQLITE_ERROR' && /no such (column|table)|has no column/.test(message))
    return new StorageFault('missing-table', message)
  return error
}

/** Parses "… failed: contacts__Contact.email, contacts__Contact.company" or "… failed: index 'contacts__…__unique'". */
function takenIn(message: string): FaultDetails {
  const index = /index '(.+)'/.exec(message)?.[1]
  return index ? { index } : { columns: [...message.matchAll(/\.(\w+)/g)].map(([, name]) => name as string) }
}

export const isDamage = (code: string) => code === 'SQLITE_NOTADB' || code.startsWith('SQLITE_CORRUPT')

/** Converts an error from opening a file to a `DatabaseError` that tells the operator what to do. */
export function explainOpening(file: string, error: unknown): unknown {
  const { code = '', message } = error as { code?: string; message: string }
  if (isDamage(code))
    return new DatabaseError(
      `${file} is damaged (${message}). Restore a backup: npm run restore -- FILE. Nothing was changed.`,
    )
  const cannotWrite =
    ['EACCES', 'EPERM', 'EROFS', 'EISDIR', 'ENOTDIR', 'EEXIST'].includes(code) ||
    /^SQLITE_(CANTOPEN|READONLY)/.test(code)
  if (cannotWrite)
    return new DatabaseError(`${file} cannot be opened for writing (${message}). Check DATA_DIR and its permissions.`)
  return error
}
