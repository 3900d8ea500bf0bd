import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'

/** Age of a file that no running import can have. */
const OLD_MS = 86_400_000

/** Removes the files of imports whose process was killed. */
export async function removeAbandonedImports(folder: string, now = Date.now()): Promise<void> {
  const names = await readdir(folder).catch(() => [])
  for (const name of names) {
    const file = join(folder, name)
    const isLeft = !isRunning(Number.parseInt(name, 10)) || (await fileAge(file, now)) > OLD_MS
    if (isLeft) await rm(file, { force: true })
  }
}

/** A file name begins with the id of the process that made it. `EPERM` means that the process exists. */
function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** 0 if the file is gone: its own process may have removed it since the folder was read. */
const fileAge = (file: string, now: number) =>
  stat(file).then(
    ({ mtimeMs }) => now - mtimeMs,
    () => 0,
  )
