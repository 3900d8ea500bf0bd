import { writeFileSync } from 'node:fs'
import { type Command, resolveFile, runCommand, UsageError } from './command.ts'
import { askTemporaryApp } from './temporary-app.ts'

export const HELP = `Usage: npm run openapi [-- FILE]

Writes the OpenAPI document of the models folder to FILE, or to standard output. Needs neither a running service nor
its data. Exit codes: 0 done, 1 a fault in a model file, 2 wrong usage.
`

export const openapiCommand: Command = async (context) => {
  const [name, ...more] = context.args
  if (more.length > 0 || name?.startsWith('-')) throw new UsageError('Name one file, or none. There are no options.')
  const text = `${JSON.stringify(await askTemporaryApp(context.env, (app) => app.document()), null, 2)}\n`
  if (name === undefined) return text
  const file = resolveFile(name, context)
  writeFileSync(file, text)
  return `${file}\n`
}

if (import.meta.main) await runCommand(HELP, openapiCommand)
