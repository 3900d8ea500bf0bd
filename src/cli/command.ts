import { resolve } from 'node:path'
import { isExpected } from '../expected.ts'

/** Arguments, environment and streams of a command: the process, or stand-ins in tests. */
export interface CommandContext {
  args: string[]
  env: NodeJS.ProcessEnv
  stdin: NodeJS.ReadableStream & { isTTY?: boolean }
  stdout: NodeJS.WritableStream & { isTTY?: boolean }
  stderr: NodeJS.WritableStream & { isTTY?: boolean }
  exitCode?: number | string | null | undefined
}

/** Runs the command and returns the text for stdout. A command that prints and yet refuses sets `exitCode` to 1. */
export type Command = (context: CommandContext) => Promise<string>

/** The arguments are wrong. */
export class UsageError extends Error {}

/** What Node adds to the message about an unknown option: it is about file names that begin with "-". */
const NODE_HINT = / To specify a positional argument.*$/s

/** Without a preceding "--", npm takes options for its own; only the `npm_config_…` variables show that. */
function refuseForgotten(help: string, { args, env }: CommandContext): void {
  const options = new Set([...help.matchAll(/--([a-z][a-z-]*)/g)].map(([, name]) => name as string))
  const taken = [...options].filter(
    (name) => env[`npm_config_${name.replaceAll('-', '_')}`] && !args.some((arg) => arg.startsWith(`--${name}`)),
  )
  if (taken.length === 0) return
  const command = `npm run ${env.npm_lifecycle_event}`
  throw new UsageError(`npm has taken --${taken.join(', --')} for itself. Put "--" before all words: ${command} -- …`)
}

/** Resolves a file name in the folder from which npm was called (`INIT_CWD`): npm changes to the project's folder. */
export const resolveFile = (name: string, { env }: CommandContext) => resolve(env.INIT_CWD ?? '.', name)

/** Runs a command: prints its help or output, and sets the exit code that its help describes. */
export async function runCommand(
  help: string,
  command: Command,
  context: CommandContext = thisProcess(),
): Promise<void> {
  if (context.args.includes('--help')) {
    context.stdout.write(help)
    return
  }
  try {
    refuseForgotten(help, context)
    context.stdout.write(await command(context))
  } catch (error) {
    const { message, code } = error as Error & { code?: string }
    const isUsage = error instanceof UsageError || code?.startsWith('ERR_PARSE_ARGS')
    if (!isUsage && !isExpected(error)) throw error
    context.stderr.write(isUsage ? `${message.replace(NODE_HINT, '')}\n\n${help}` : `${message}\n`)
    context.exitCode = isUsage ? 2 : 1
  }
}

const thisProcess = (): CommandContext => Object.assign(process, { args: process.argv.slice(2) })
