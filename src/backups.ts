import { existsSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Logger } from 'pino'
import type { Config } from './config.ts'
import { backupDatabase, backupName } from './database/backup.ts'
import { databaseFile } from './database/database.ts'

const KIND = 'automatic'
/** How often it is looked whether a backup is due. */
const LOOK_MS = 60_000

/** Makes a backup every so often, and removes the oldest of its own. Returns how to stop. */
export function scheduleBackups(config: Config, log: Logger, lookMs = LOOK_MS): () => void {
  if (config.BACKUP_EVERY_HOURS === 0) return () => {}
  let isAtIt = false
  const timer = setInterval(async () => {
    if (isAtIt) return
    isAtIt = true
    await backupIfDue(config, log)
    isAtIt = false
  }, lookMs)
  timer.unref()
  return () => clearInterval(timer)
}

export async function backupIfDue(config: Config, log: Logger): Promise<void> {
  const folder = join(config.DATA_DIR, 'backups')
  try {
    if (!isDue(folder, config)) return
    const target = join(folder, backupName(KIND))
    await backupDatabase(databaseFile(config.DATA_DIR), target)
    log.info({ target }, 'backup made')
    // Only after a new one has been made and checked: nothing ever removes the only good copy.
    for (const name of own(folder).slice(0, -config.BACKUP_KEEP)) rmSync(join(folder, name))
  } catch (error) {
    log.error(error, 'the backup failed')
  }
}

/** By what is there, not by how long the process has run: it may be started anew every night. */
function isDue(folder: string, { BACKUP_EVERY_HOURS }: Config): boolean {
  const last = existsSync(folder) && own(folder).at(-1)
  return !last || statSync(join(folder, last)).mtimeMs <= Date.now() - BACKUP_EVERY_HOURS * 3_600_000
}

/** Names begin with what made them and go on with the time, so that the oldest come first. */
function own(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => name.startsWith(KIND) && name.endsWith('.db'))
    .sort()
}
