import { chmodSync, closeSync, existsSync, openSync, readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { dataFolder, isOwnEntry, SUBFOLDERS } from '../../data-folder.ts'
import { giveToOwner, makeFolder } from '../../lib/file-owner.ts'

/** Restricts files and folders to the service's own user, whatever the umask is. */

const FOR_OTHERS = 0o077

/** Creates an empty database file if it does not exist. SQLite gives its `-wal` and `-shm` files the same mode. */
export function createPrivateFile(file: string): void {
  makeFolder(dirname(file))
  makeFile(file)
  // Earlier versions created these files with the mode of the umask.
  for (const name of [file, `${file}-wal`, `${file}-shm`]) restrict(name, 0o600)
}

function makeFile(file: string): void {
  try {
    closeSync(openSync(file, 'ax', 0o600))
    giveToOwner(file)
  } catch {
    // The file exists, or cannot be created; in that case opening it fails with the reason.
  }
}

/** Restricts an existing data folder. One with other files in it stays as it is: it has other uses as well. */
export function restrictDataFolder(folder: string): void {
  if (!readdirSync(folder).every(isOwnEntry)) return
  for (const name of ['.', ...SUBFOLDERS]) restrict(join(folder, name), 0o700)
  restrict(dataFolder(folder).signingKey, 0o600)
}

function restrict(path: string, mode: number): void {
  if (!existsSync(path)) return
  const { mode: now, uid } = statSync(path)
  // Only the owner can change the mode. If the service runs as another user, the owner has given it access on purpose.
  if ((now & FOR_OTHERS) !== 0 && uid === process.getuid?.()) chmodSync(path, mode)
}
