import { SettingsError } from '../config.ts'
import { Failure } from '../errors.ts'

/** The words after the command are not right. */
export class UsageError extends Error {}

/** Runs a command for operators: help, output, and exit codes that scripts can use. */
export async function runCommand(help: string, work: (args: string[]) => Promise<string>): Promise<void> {
  const args = process.argv.slice(2)
  if (args.includes('--help')) {
    process.stdout.write(help)
    return
  }
  try {
    process.stdout.write(await work(args))
  } catch (error) {
    const { message, code } = error as Error & { code?: string }
    const isUsage = error instanceof UsageError || code?.startsWith('ERR_PARSE_ARGS')
    if (!isUsage && !(error instanceof Failure) && !(error instanceof SettingsError)) throw error
    process.stderr.write(isUsage ? `${message}\n\n${help}` : `${message}\n`)
    process.exitCode = isUsage ? 2 : 1
  }
}
