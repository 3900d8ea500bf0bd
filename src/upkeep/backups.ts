import { existsSync, readdirSync, rmSync, statSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import { backupName } from '../lib/backup-name.ts'
import type { Storage } from '../storage/storage.ts'

/** Which occasions there are: of each, so many copies are kept. */
type Kind = 'automatic' | 'before-change'

interface Parts {
  log: Pick<Logger, 'info'>
  onError(task: string, error: unknown): void
}

/** How often it is looked whether a backup is due. */
const LOOK_MS = 60_000

/** Makes a backup every so often, and removes the oldest of its own. Returns how to stop. */
export function scheduleBackups(storage: Storage, config: Config, parts: Parts, lookMs = LOOK_MS): () => void {
  if (config.BACKUP_EVERY_HOURS === 0 || !storage.backup) return () => {}
  let isAtIt = false
  const timer = setInterval(async () => {
    if (isAtIt) return
    isAtIt = true
    await backupIfDue(storage, config, parts)
    isAtIt = false
  }, lookMs)
  timer.unref()
  return () => clearInterval(timer)
}

export async function backupIfDue(storage: Storage, config: Config, { log, onError }: Parts): Promise<void> {
  try {
    if (isDue(backupFolder(config), config))
      log.info({ target: await backUp(storage, config, 'automatic') }, 'backup made')
  } catch (error) {
    onError('the backup', error)
  }
}

/** Returns where the copy is. */
export const backupBeforeChange = (storage: Storage, config: Config) => backUp(storage, config, 'before-change')

async function backUp(storage: Storage, config: Config, kind: Kind): Promise<string> {
  const folder = backupFolder(config)
  const target = join(folder, backupName(kind))
  await storage.backup?.(target)
  // Only after a new one has been made and checked: nothing ever removes the only good copy.
  // Another process may have been at it as well.
  for (const name of [...own(folder, kind).slice(0, -config.BACKUP_KEEP), ...abandoned(folder)])
    rmSync(join(folder, name), { force: true })
  return target
}

/** A copy of the database, as an admin sees it. */
export interface Copy {
  name: string
  bytes: number
  at: string
}

/** The copies that there are, the newest first. What is being made has no name of its own yet. */
export async function listBackups(config: Config): Promise<Copy[]> {
  const folder = backupFolder(config)
  const names = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith('.db'))
  const copies = await Promise.all(
    names.map(async (name) => {
      const { size, mtimeMs } = await stat(join(folder, name))
      return { name, bytes: size, at: new Date(mtimeMs).toISOString() }
    }),
  )
  return copies.sort((a, b) => b.at.localeCompare(a.at))
}

const backupFolder = ({ DATA_DIR }: Config) => join(DATA_DIR, 'backups')

/**
 * By what is there, not by how long the process has run: it may be started anew every night. Copies from the future, made
 * while the clock was wrong, say nothing about the last day.
 */
function isDue(folder: string, { BACKUP_EVERY_HOURS }: Config): boolean {
  const now = Date.now()
  const times = existsSync(folder) ? own(folder, 'automatic').map((name) => statSync(join(folder, name)).mtimeMs) : []
  const last = Math.max(0, ...times.filter((time) => time <= now))
  return last <= now - BACKUP_EVERY_HOURS * 3_600_000
}

/** What a process that was killed had begun: nobody takes a day for a copy. */
function abandoned(folder: string): string[] {
  const yesterday = Date.now() - 86_400_000
  return readdirSync(folder)
    .filter((name) => /\.part(?:-\w+)?$/.test(name))
    .filter((name) => (statSync(join(folder, name), { throwIfNoEntry: false })?.mtimeMs ?? 0) < yesterday)
}

/** Names begin with what made them and go on with the time, so that the oldest come first. */
function own(folder: string, kind: Kind): string[] {
  return readdirSync(folder)
    .filter((name) => name.startsWith(`${kind}-`) && name.endsWith('.db'))
    .sort()
}
