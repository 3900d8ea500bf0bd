import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'

/** No import takes that long. */
const OLD_MS = 86_400_000

/** Removes what imports have left behind whose process was killed. */
export async function clearLeftovers(folder: string, now = Date.now()): Promise<void> {
  const names = await readdir(folder).catch(() => [])
  for (const name of names) {
    const file = join(folder, name)
    const isLeft = !isRunning(Number.parseInt(name, 10)) || (await fileAge(file, now)) > OLD_MS
    if (isLeft) await rm(file, { force: true })
  }
}

/** Files begin with the number of the process that made them. */
function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Whoever made it may remove it just now. */
const fileAge = (file: string, now: number) =>
  stat(file).then(
    ({ mtimeMs }) => now - mtimeMs,
    () => 0,
  )
