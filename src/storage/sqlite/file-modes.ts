import { chmodSync, closeSync, existsSync, openSync, readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { dataFolder, isOwnEntry, SUBFOLDERS } from '../../data-folder.ts'
import { giveToOwner, makeFolder } from '../../lib/file-owner.ts'

/** What only the service's own user may read, whatever the umask says. */

const FOR_OTHERS = 0o077

/** Makes a file that is to hold records, empty, if it is not there. SQLite gives its `-wal` and `-shm` the same mode. */
export function makePrivate(file: string): void {
  makeFolder(dirname(file))
  makeFile(file)
  // Earlier versions made them as the umask said.
  for (const name of [file, `${file}-wal`, `${file}-shm`]) close(name, 0o600)
}

function makeFile(file: string): void {
  try {
    closeSync(openSync(file, 'ax', 0o600))
    giveToOwner(file)
  } catch {
    // It is there already; else whoever opens it is told why it cannot be made.
  }
}

/** A data folder that is there already. One with other things in it is somebody else's as well. */
export function restrictDataFolder(folder: string): void {
  if (!readdirSync(folder).every(isOwnEntry)) return
  for (const name of ['.', ...SUBFOLDERS]) close(join(folder, name), 0o700)
  close(dataFolder(folder).secret, 0o600)
}

function close(path: string, mode: number): void {
  if (!existsSync(path)) return
  const { mode: now, uid } = statSync(path)
  // Only its owner can change it; who else runs the service was let in by that owner.
  if ((now & FOR_OTHERS) !== 0 && uid === process.getuid?.()) chmodSync(path, mode)
}
