import type { Storage } from '../storage/storage.ts'

/**
 * Gaps in the versions of records. After a backup was restored, versions continue with a gap, so that none is used
 * twice: clients may still know versions that were made after the backup and are lost. The journal has no change for
 * such a gap; the table `dossier_restores` records it.
 */
export interface BackupRestores {
  /** Whether a backup was restored between two changes. */
  isBetween(earlier: number, later: number): boolean
  /** The largest gap of the restores since a change; 0 without one. Used if the lost versions are unknown. */
  gapAfter(change: number): number
}

const RESTORES = 'SELECT change, gap FROM dossier_restores'

export async function readBackupRestores(storage: Storage): Promise<BackupRestores> {
  const rows = await storage.read({ sql: RESTORES, parameters: [] })
  const restored = rows as unknown as { change: number; gap: number }[]
  return {
    isBetween: (earlier, later) => restored.some(({ change }) => earlier <= change && change < later),
    gapAfter: (earlier) => Math.max(0, ...restored.filter(({ change }) => earlier <= change).map(({ gap }) => gap)),
  }
}

/** The version of a deleted record when it is restored. The gap avoids versions that it may have got in lost data. */
export async function restoredVersion(
  storage: Storage,
  deletion: { change: number; version: number },
): Promise<number> {
  const { gapAfter } = await readBackupRestores(storage)
  return deletion.version + 1 + gapAfter(deletion.change)
}
