import { parseArgs } from 'node:util'
import { loadConfig } from '../config.ts'
import { requireFile, restoreDatabase } from '../storage/open.ts'
import { type Command, resolveFile, runCommand, UsageError } from './command.ts'

export const HELP = `Usage: npm run restore -- FILE [--create]

Puts a backup in the place of the database. The copy is checked first, nothing happens while the service runs,
and what is replaced is kept in backups/ in the data folder. Where there is no database yet, --create makes it.
Exit codes: 0 done, 1 refused, 2 wrong usage.
`

export const restoreCommand: Command = async (context) => {
  const { values, positionals } = parseArgs({
    args: context.args,
    allowPositionals: true,
    options: { create: { type: 'boolean', default: false } },
  })
  const [name, ...more] = positionals
  if (name === undefined || more.length > 0) throw new UsageError('Name one file: the backup.')
  const config = loadConfig(context.env, true)
  if (config.DATABASE_URL !== undefined || !values.create) requireFile(config, ', or say --create')
  const file = resolveFile(name, context)
  const kept = restoreDatabase(config.DATA_DIR, file)
  return `${file} is restored.${kept === undefined ? '' : ` What was there is kept as ${kept}.`}\n`
}

if (import.meta.main) await runCommand(HELP, restoreCommand)
