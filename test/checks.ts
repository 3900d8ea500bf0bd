import { exec } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(exec)

/** tap has to be built anew after an installation: it comes with a plugin for TypeScript, which .taprc switches off. */
function isTapBuilt(): boolean {
  return !/^@tapjs\/typescript$/m.test(readFileSync(fileURLToPath(import.meta.resolve('@tapjs/test')), 'utf8'))
}

/** Runs what comes before the tests, all of it at once. Returns what the commands that failed have printed. */
export async function check(commands: string[]): Promise<string[]> {
  const all = isTapBuilt() ? commands : [...commands, 'tap build']
  const ended = await Promise.allSettled(all.map((command) => run(command, { maxBuffer: 2 ** 26 })))
  return ended.flatMap((one, index) => {
    if (one.status === 'fulfilled') return []
    const { stdout = '', stderr = '' } = one.reason
    return [`${all[index]}:\n${stdout}${stderr}`]
  })
}
