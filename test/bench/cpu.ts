import { readdirSync, readFileSync } from 'node:fs'

/** Ticks per second of the times in /proc: 100 on every Linux that Node runs on. */
const TICKS = 100

/** Fields of a stat file after the name, which may contain spaces. */
function statOf(path: string): string[] {
  const text = readFileSync(path, 'utf8')
  return text.slice(text.lastIndexOf(')') + 2).split(' ')
}

const secondsIn = (stat: string[]) => (Number(stat[11]) + Number(stat[12])) / TICKS

/** Seconds of CPU that a process has used, with all its threads. */
export const cpuOf = (pid: number): number => secondsIn(statOf(`/proc/${pid}/stat`))

/** The same for all processes that `pid` has started and that still run, and for itself. */
export function cpuOfFamily(pid: number): number {
  let sum = cpuOf(pid)
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    try {
      const stat = statOf(`/proc/${name}/stat`)
      if (Number(stat[1]) === pid) sum += secondsIn(stat)
    } catch (error) {
      // It has ended meanwhile.
      if (!['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code as string)) throw error
    }
  }
  return sum
}

/** Seconds of CPU of each thread of a process, by thread id; the main thread has the id of the process. */
export function cpuOfThreads(pid: number): Map<number, number> {
  const folder = `/proc/${pid}/task`
  return new Map(readdirSync(folder).map((id) => [Number(id), secondsIn(statOf(`${folder}/${id}/stat`))]))
}
