import { type FSWatcher, watch } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'

/** Editors write a file in several steps, and people save several files: changes within this time count as one. */
const QUIET_MS = 200
/** `fs.watch` only sees the folder that existed at the start. Deployments replace it, so it is polled as well. */
const POLL_MS = 2000

/** Calls `onChange` after something in a folder has changed and QUIET_MS have passed. Returns a function that stops. */
export function watchFolder(
  folder: string,
  onChange: () => void,
  pollMs = POLL_MS,
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

  /** Watches the folder that is at the path now, if there is one. */
  const rewatch = (identity: string) => {
    if (identity === watched) return
    watcher?.close()
    watched = identity
    try {
      // An error of the watcher also counts as a change: `onChange` reads the folder and sees the reason.
      watcher = identity === '' ? undefined : startWatching(folder, changed).on('error', changed)
    } catch {
      // The folder is gone again, or the system has no watches left: the next `poll` detects changes by polling.
      watched = ''
    }
  }

  const poll = async () => {
    const { identity, content } = await readSnapshot(folder)
    if (isStopped) return
    rewatch(identity)
    const now = `${identity} ${content}`
    if (seen !== undefined && seen !== now) changed()
    seen = now
  }

  const polling = { current: poll() }
  const timer = setInterval(() => {
    polling.current = polling.current.then(poll)
  }, pollMs).unref()
  return () => {
    isStopped = true
    clearTimeout(quiet)
    clearInterval(timer)
    watcher?.close()
  }
}

/** Identity of a folder, and names, sizes and times of its files. Empty if the folder cannot be read. */
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
