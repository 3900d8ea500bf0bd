import { resolve } from 'node:path'
import { isExpected } from '../expected.ts'

/** What a command sees of the world. */
export interface World {
  args: string[]
  env: NodeJS.ProcessEnv
  stdin: NodeJS.ReadableStream & { isTTY?: boolean }
  stdout: NodeJS.WritableStream & { isTTY?: boolean }
  stderr: NodeJS.WritableStream & { isTTY?: boolean }
  exitCode?: number | string | null | undefined
}

/** Does the work and returns what to print; a refusal is an exit code of 1 beside it. */
export type Command = (world: World) => Promise<string>

/** The words after the command are not right. */
export class UsageError extends Error {}

/** The words that begin with two dashes, of all commands. */
const OPTIONS = ['again', 'create', 'days', 'dry-run', 'json', 'read-only', 'roles', 'safe', 'to']

/** npm takes them for its own unless a "--" stands before them, and says so in the environment only. */
function refuseForgotten({ args, env }: World): void {
  const taken = OPTIONS.filter(
    (name) => env[`npm_config_${name.replaceAll('-', '_')}`] && !args.some((arg) => arg.startsWith(`--${name}`)),
  )
  if (taken.length === 0) return
  const command = `npm run ${env.npm_lifecycle_event}`
  throw new UsageError(`npm has taken --${taken.join(', --')} for itself. Put "--" before all words: ${command} -- …`)
}

/** A file as it is named by somebody who stands elsewhere: npm changes to the project's folder. */
export const fileNamed = (name: string, { env }: World) => resolve(env.INIT_CWD ?? '.', name)

/** Runs a command for operators: help, output, and exit codes that scripts can use. */
export async function runCommand(help: string, command: Command, world: World = thisProcess()): Promise<void> {
  if (world.args.includes('--help')) {
    world.stdout.write(help)
    return
  }
  try {
    refuseForgotten(world)
    world.stdout.write(await command(world))
  } catch (error) {
    const { message, code } = error as Error & { code?: string }
    const isUsage = error instanceof UsageError || code?.startsWith('ERR_PARSE_ARGS')
    if (!isUsage && !isExpected(error)) throw error
    world.stderr.write(isUsage ? `${message}\n\n${help}` : `${message}\n`)
    world.exitCode = isUsage ? 2 : 1
  }
}

const thisProcess = (): World => Object.assign(process, { args: process.argv.slice(2) })
