import { existsSync, readdirSync, rmSync, statSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import { dataFolder } from '../data-folder.ts'
import { Failure } from '../errors.ts'
import { backupName } from '../lib/backup-name.ts'
import type { Storage } from '../storage/storage.ts'
import { repeat } from './repeat.ts'

/** The occasion of a backup; `BACKUP_KEEP` applies to each kind separately. */
type Kind = 'automatic' | 'before-change' | 'on-request'

interface Dependencies {
  log: Pick<Logger, 'info'>
  onError(task: string, error: unknown): void
}

/** Interval between two checks whether a backup is due. */
const POLL_MS = 60_000

/** Makes automatic backups every `BACKUP_EVERY_HOURS` and removes the oldest of them. Returns a stop function. */
export function scheduleBackups(
  storage: Storage,
  config: Config,
  { log, onError }: Dependencies,
  pollMs = POLL_MS,
): () => void {
  if (config.BACKUP_EVERY_HOURS === 0 || !storage.backup) return () => {}
  const run = () => backupIfDue(storage, config, log)
  return repeat({ everyMs: pollMs, run, onError: (error) => onError('backup', error) })
}

export async function backupIfDue(storage: Storage, config: Config, log: Dependencies['log']): Promise<void> {
  if (isDue(backupFolder(config), config))
    log.info({ target: await backUp(storage, config, 'automatic') }, 'backup made')
}

/** Returns the path of the backup. */
export const backupBeforeChange = (storage: Storage, config: Config) => backUp(storage, config, 'before-change')

/** Makes a backup now, for an admin who asks for it; one at a time. */
export async function backUpNow(storage: Storage, config: Config): Promise<Backup> {
  if (!storage.backup)
    throw new Failure(
      'BAD_REQUEST',
      'PostgreSQL makes its own backups, for example with pg_dump: this service does not.',
    )
  if (running.has(storage)) throw new Failure('UNAVAILABLE', 'A backup is being made already.')
  running.add(storage)
  try {
    const target = basename(await backUp(storage, config, 'on-request'))
    return (await listBackups(config)).find(({ name }) => name === target) as Backup
  } finally {
    running.delete(storage)
  }
}

const running = new WeakSet<Storage>()

async function backUp(storage: Storage, config: Config, kind: Kind): Promise<string> {
  const folder = backupFolder(config)
  const target = join(folder, backupName(kind))
  await storage.backup?.(target)
  // Old backups are removed only after a new one has been made and checked, so the only good copy is never removed.
  // `force`, because another process may have removed the same file.
  for (const name of [...listBackupFiles(folder, kind).slice(0, -config.BACKUP_KEEP), ...listAbandoned(folder)])
    rmSync(join(folder, name), { force: true })
  return target
}

/** A backup as the API lists it for admins. */
export interface Backup {
  name: string
  bytes: number
  at: string
}

/** Lists the backups, the newest first. An unfinished backup ends with `.part` and is not listed. */
export async function listBackups(config: Config): Promise<Backup[]> {
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

const backupFolder = ({ DATA_DIR }: Config) => dataFolder(DATA_DIR).backups

/**
 * Decides by the existing backups and not by the uptime, because the process may be restarted every night. Ignores
 * backups with a time in the future, made while the clock was wrong.
 */
function isDue(folder: string, { BACKUP_EVERY_HOURS }: Config): boolean {
  const now = Date.now()
  const times = existsSync(folder)
    ? listBackupFiles(folder, 'automatic').map((name) => statSync(join(folder, name)).mtimeMs)
    : []
  const last = Math.max(0, ...times.filter((time) => time <= now))
  return last <= now - BACKUP_EVERY_HOURS * 3_600_000
}

/** Unfinished backups of killed processes. No backup takes a day, so older ones are not in progress. */
function listAbandoned(folder: string): string[] {
  const yesterday = Date.now() - 86_400_000
  return readdirSync(folder)
    .filter((name) => /\.part(?:-\w+)?$/.test(name))
    .filter((name) => (statSync(join(folder, name), { throwIfNoEntry: false })?.mtimeMs ?? 0) < yesterday)
}

/** The backups of one kind. A name is the kind and then the time, so sorting puts the oldest first. */
function listBackupFiles(folder: string, kind: Kind): string[] {
  return readdirSync(folder)
    .filter((name) => name.startsWith(`${kind}-`) && name.endsWith('.db'))
    .sort()
}
