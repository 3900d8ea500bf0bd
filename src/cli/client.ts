import { writeFileSync } from 'node:fs'
import { type Command, resolveFile, runCommand, UsageError } from './command.ts'
import { askTemporaryApp } from './temporary-app.ts'

export const HELP = `Usage: npm run client [-- FILE]

Writes a client for the models folder to FILE, or to standard output: one file without dependencies. A FILE that ends
in .js is JavaScript, any other TypeScript. Needs neither a running service nor its data. Exit codes: 0 done, 1 a fault
in a model file, 2 wrong usage.
`

export const clientCommand: Command = async (context) => {
  const [name, ...more] = context.args
  if (more.length > 0 || name?.startsWith('-')) throw new UsageError('Name one file, or none. There are no options.')
  const language = name?.endsWith('.js') ? 'js' : 'ts'
  const text = await askTemporaryApp(context.env, (app) => app.clientSource(app.models, language))
  if (name === undefined) return text
  const file = resolveFile(name, context)
  writeFileSync(file, text)
  return `${file}\n`
}

if (import.meta.main) await runCommand(HELP, clientCommand)
