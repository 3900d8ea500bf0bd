/** The database cannot be used as it is. The message says what to do. */
export class DatabaseError extends Error {}

/** What SQLite says when it opens a file → what an operator can do about it. */
export function explainOpening(file: string, error: unknown): unknown {
  const { code = '', message } = error as { code?: string; message: string }
  if (code === 'SQLITE_NOTADB' || code.startsWith('SQLITE_CORRUPT'))
    return new DatabaseError(
      `${file} is damaged (${message}). Restore a backup: npm run restore -- FILE. Nothing was changed.`,
    )
  if (
    code.startsWith('SQLITE_CANTOPEN') ||
    code.startsWith('SQLITE_READONLY') ||
    code === 'EACCES' ||
    code === 'ENOTDIR'
  )
    return new DatabaseError(`${file} cannot be opened for writing (${message}). Check DATA_DIR and its permissions.`)
  return error
}

export const tooNew = (file: string) =>
  new DatabaseError(
    `${file} was written by a newer version of Dossier. Start that version, or restore an earlier backup.`,
  )
