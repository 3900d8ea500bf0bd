import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { loadConfig } from '../config.ts'
import { dataFolder } from '../data-folder.ts'
import { backupName } from '../lib/backup-name.ts'
import { backupDatabase, requireFile } from '../storage/open.ts'
import { DatabaseError } from '../storage/storage.ts'
import { type Command, resolveFile, runCommand, UsageError } from './command.ts'
import { progressBar } from './progress.ts'

export const HELP = `Usage: npm run backup [-- FILE]

Makes a consistent copy of the database, while the service runs and without holding up anybody, and checks it.
Without FILE it goes to backups/ in the data folder. Exit codes: 0 done, 1 refused, 2 wrong usage.
`

export const backupCommand: Command = async (context) => {
  const { args, env, stderr } = context
  if (args.length > 1 || args[0]?.startsWith('-')) throw new UsageError('Name one file, or none. There are no options.')
  const config = loadConfig(env, true)
  const file = requireFile(config)
  const target =
    args[0] === undefined
      ? resolve(dataFolder(config.DATA_DIR).backups, backupName('backup'))
      : resolveFile(args[0], context)
  if (existsSync(target)) throw new DatabaseError(`${target} exists already. Choose another name.`)
  await backupDatabase(file, target, progressBar(stderr))
  return `${target}\n`
}

if (import.meta.main) await runCommand(HELP, backupCommand)
