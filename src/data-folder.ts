import { join } from 'node:path'

/** Paths of everything that a data folder contains. */
export const dataFolder = (folder: string) => ({
  /** SQLite adds `-wal` and `-shm` files beside it. */
  database: join(folder, 'dossier.db'),
  /** The signing key, see `Storage.signingKey`. */
  signingKey: join(folder, 'cookie-secret'),
  backups: join(folder, 'backups'),
  /** Uploads that are being imported. */
  imports: join(folder, 'imports'),
})

/** Subfolders, which only the service's own user may enter. */
export const SUBFOLDERS = ['backups', 'imports']

/** Whether a file or folder in a data folder is one of the service's own; `.git*` keeps the folder in a repository. */
export const isOwnEntry = (name: string): boolean =>
  SUBFOLDERS.includes(name) || /^(?:dossier\.db|cookie-secret|\.git)/.test(name)
