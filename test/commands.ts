import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import { type Command, type CommandContext, runCommand } from '../src/cli/command.ts'

/** Runs commands for operators, in this process or in others. */

/** Returns a function that runs a command for operators in this process, as its script would. */
export function commandRunner(help: string, command: Command, env: Record<string, string>) {
  return async (words: string, input = '', terminal = false) => {
    let [out, err] = ['', '']
    const world: CommandContext = {
      args: words.split(' ').filter((word) => word !== ''),
      env,
      stdin: Readable.from([input]),
      stdout: Object.assign(
        new Writable({
          write: (chunk, _encoding, done) => {
            out += chunk
            done()
          },
        }),
        { isTTY: terminal },
      ),
      stderr: new Writable({
        write: (chunk, _encoding, done) => {
          err += chunk
          done()
        },
      }),
    }
    await runCommand(help, command, world)
    return { code: Number(world.exitCode ?? 0), out, err }
  }
}

/** The API document of some models has more than the megabyte that is Node's limit. */
const MAX_OUTPUT = 16_777_216

/** Runs a script of src/cli in a child process. */
export function runScript(script: string, words: string[], env: Record<string, string>, input = '') {
  return new Promise<{ code: number; out: string; err: string }>((resolve) => {
    const file = join(import.meta.dirname, '../src/cli', script)
    const child = execFile(
      process.execPath,
      [file, ...words],
      { env: { ...process.env, ...env }, maxBuffer: MAX_OUTPUT },
      (error, out, err) => resolve({ code: Number(error?.code ?? 0), out, err }),
    )
    child.stdin?.end(input)
  })
}

/** Runs a tool that the test runner's NODE_OPTIONS would break; returns its exit code and output. */
export function runTool(words: string[], cwd?: string): Promise<{ code: number; said: string }> {
  return new Promise((resolve) => {
    execFile('env', ['-u', 'NODE_OPTIONS', process.execPath, ...words], { cwd }, (error, out, err) =>
      resolve({ code: Number(error?.code ?? 0), said: out + err }),
    )
  })
}
