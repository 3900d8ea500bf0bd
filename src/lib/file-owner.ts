import { lchownSync, mkdirSync, statSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'

/**
 * What root makes, at the command line, belongs to whom the folder belongs that it is in: the service runs as somebody else,
 * and has to write it. A link itself is given away, never what it leads to: somebody may have put it there.
 */
export function giveToOwner(path: string, self = process.getuid?.()): void {
  if (self !== 0) return
  const { uid, gid } = statSync(dirname(path))
  lchownSync(path, uid, gid)
}

/** Makes a folder for the service's own user alone, with those above it. */
export function makeFolder(folder: string): void {
  const first = mkdirSync(folder, { recursive: true, mode: 0o700 })
  if (first === undefined) return
  // All that were made, from the first one down.
  const made = [first]
  for (const name of relative(first, folder).split(sep)) if (name !== '') made.push(join(made.at(-1) as string, name))
  for (const path of made) giveToOwner(path)
}
