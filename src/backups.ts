import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Logger } from 'pino'
import type { Config } from './config.ts'
import { backupDatabase, backupName } from './database/backup.ts'
import { databaseFile } from './database/database.ts'

const KIND = 'automatic'

/** Makes a backup every so often, and removes the oldest of its own. Returns how to stop. */
export function scheduleBackups(config: Config, log: Logger): () => void {
  if (config.BACKUP_EVERY_HOURS === 0) return () => {}
  const timer = setInterval(() => automaticBackup(config, log), config.BACKUP_EVERY_HOURS * 3_600_000)
  timer.unref()
  return () => clearInterval(timer)
}

export async function automaticBackup(config: Config, log: Logger): Promise<void> {
  const folder = join(config.DATA_DIR, 'backups')
  const target = join(folder, backupName(KIND))
  try {
    await backupDatabase(databaseFile(config.DATA_DIR), target)
    log.info({ target }, 'backup made')
    // Only after a new one has been made and checked: nothing ever removes the only good copy.
    for (const name of tooMany(folder, config.BACKUP_KEEP)) rmSync(join(folder, name))
  } catch (error) {
    log.error(error, 'the backup failed')
  }
}

/** Names begin with what made them and go on with the time, so that the oldest come first. */
function tooMany(folder: string, kept: number): string[] {
  const own = readdirSync(folder).filter((name) => name.startsWith(KIND) && name.endsWith('.db'))
  return own.sort().slice(0, -kept)
}
