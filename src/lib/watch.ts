import { watch } from 'node:fs'

/** Editors write a file in several steps, and people save several files: one change is all of that. */
const QUIET_MS = 200

/** Calls back when something in a folder has changed and it has been quiet since. Returns how to stop. */
export function watchFolder(folder: string, onChange: () => void): () => void {
  let timer: NodeJS.Timeout | undefined
  const changed = () => {
    clearTimeout(timer)
    timer = setTimeout(onChange, QUIET_MS)
  }
  // A folder that can no longer be watched has changed as well: whoever looks will see why.
  const watcher = watch(folder, changed).on('error', changed)
  return () => {
    clearTimeout(timer)
    watcher.close()
  }
}
