import { exec } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(exec)

/** Runs what comes before the tests, all of it at once. Returns what the commands that failed have printed. */
export async function check(commands: string[]): Promise<string[]> {
  // tap comes with a plugin for TypeScript, which .taprc switches off: it is built again without it.
  const all = [...commands, 'tap build']
  const ended = await Promise.allSettled(all.map((command) => run(command, { maxBuffer: 2 ** 26 })))
  return ended.flatMap((one, index) => {
    if (one.status === 'fulfilled') return []
    const { stdout = '', stderr = '' } = one.reason
    return [`${all[index]}:\n${stdout}${stderr}`]
  })
}
