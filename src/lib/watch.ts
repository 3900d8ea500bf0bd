import { type FSWatcher, watch } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'

/** Editors write a file in several steps, and people save several files: one change is all of that. */
const QUIET_MS = 200
/** The system tells of changes in the folder that was there at the start. Deployments replace it: so it is looked, too. */
const LOOK_MS = 2000

/** Calls back when something in a folder has changed and it has been quiet since. Returns how to stop. */
export function watchFolder(
  folder: string,
  onChange: () => void,
  lookMs = LOOK_MS,
  startWatching: typeof watch = watch,
): () => void {
  let quiet: NodeJS.Timeout | undefined
  let watcher: FSWatcher | undefined
  let seen: string | undefined
  let watched = ''
  let isStopped = false
  const changed = () => {
    clearTimeout(quiet)
    if (!isStopped) quiet = setTimeout(onChange, QUIET_MS)
  }

  /** What is at the address now is watched, if it is a folder. */
  const rewatch = (identity: string) => {
    if (identity === watched) return
    watcher?.close()
    watched = identity
    try {
      // A folder that can no longer be watched has changed as well: whoever looks will see why.
      watcher = identity === '' ? undefined : startWatching(folder, changed).on('error', changed)
    } catch {
      // It has gone again, or the system has no more watches to give: the next look finds out what has changed.
      watched = ''
    }
  }

  const look = async () => {
    const { identity, content } = await readSnapshot(folder)
    if (isStopped) return
    rewatch(identity)
    const now = `${identity} ${content}`
    if (seen !== undefined && seen !== now) changed()
    seen = now
  }

  const looking = { current: look() }
  const timer = setInterval(() => {
    looking.current = looking.current.then(look)
  }, lookMs).unref()
  return () => {
    isStopped = true
    clearTimeout(quiet)
    clearInterval(timer)
    watcher?.close()
  }
}

/** Which folder it is, and what is in it: names, sizes and times. Nothing, if it cannot be read. */
async function readSnapshot(folder: string): Promise<{ identity: string; content: string }> {
  try {
    const { dev, ino } = await stat(folder)
    const names = (await readdir(folder)).sort()
    const files = await Promise.all(names.map((name) => describe(join(folder, name), name)))
    return { identity: `${dev}:${ino}`, content: files.join('\n') }
  } catch {
    return { identity: '', content: '' }
  }
}

const describe = (path: string, name: string) =>
  stat(path).then(
    ({ ino, size, mtimeMs }) => `${name} ${ino} ${size} ${mtimeMs}`,
    () => name,
  )
