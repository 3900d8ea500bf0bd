import { loadConfig } from '../config.ts'
import { restoreDatabase } from '../storage/open.ts'
import { type Command, runCommand, UsageError } from './command.ts'

export const HELP = `Usage: npm run restore -- FILE

Puts a backup in the place of the database. The copy is checked first, nothing happens while the service runs,
and what is replaced is kept in backups/ in the data folder. Exit codes: 0 done, 1 refused, 2 wrong usage.
`

export const restoreCommand: Command = async ({ args, env }) => {
  const [file, ...more] = args
  if (file === undefined || more.length > 0) throw new UsageError('Which file?')
  const kept = restoreDatabase(loadConfig(env, true).DATA_DIR, file)
  return `${file} is restored.${kept === undefined ? '' : ` What was there is kept as ${kept}.`}\n`
}

if (import.meta.main) await runCommand(HELP, restoreCommand)
