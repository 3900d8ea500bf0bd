import { lchownSync, mkdirSync, statSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'

/**
 * Gives a file that root created at the command line to the owner of its folder: the service runs as that user and must
 * be able to write the file. Changes the owner of a link itself, never of its target: a user may have put the link
 * there.
 */
export function giveToOwner(path: string, self = process.getuid?.()): void {
  if (self !== 0) return
  const { uid, gid } = statSync(dirname(path))
  lchownSync(path, uid, gid)
}

/** Creates a folder with mode 0700, and the missing folders above. */
export function makeFolder(folder: string): void {
  const first = mkdirSync(folder, { recursive: true, mode: 0o700 })
  if (first === undefined) return
  // All folders that were created, from the topmost down.
  const made = [first]
  for (const name of relative(first, folder).split(sep)) if (name !== '') made.push(join(made.at(-1) as string, name))
  for (const path of made) giveToOwner(path)
}
