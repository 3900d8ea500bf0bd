import type { Storage } from '../storage/storage.ts'

/**
 * After a backup was restored, versions go on with a gap, so that none is given twice: what was made after the backup, and is
 * lost, may still be known to clients. The journal has no change for the gap; here is where it is known.
 */
export interface Restores {
  /** Whether a backup was restored between two changes. */
  isBetween(earlier: number, later: number): boolean
  /** By how much numbers go on higher after a change, where there is no telling what was given since. */
  gapAfter(change: number): number
}

const RESTORES = 'SELECT change, gap FROM dossier_restores'

export async function readRestores(storage: Storage): Promise<Restores> {
  const rows = await storage.read({ sql: RESTORES, parameters: [] })
  const restored = rows as unknown as { change: number; gap: number }[]
  return {
    isBetween: (earlier, later) => restored.some(({ change }) => earlier <= change && change < later),
    gapAfter: (earlier) => Math.max(0, ...restored.filter(({ change }) => earlier <= change).map(({ gap }) => gap)),
  }
}

/** The version that a deleted record comes back with. It may have come back before, in what is lost. */
export async function versionAfter(storage: Storage, deletion: { change: number; version: number }): Promise<number> {
  const { gapAfter } = await readRestores(storage)
  return deletion.version + 1 + gapAfter(deletion.change)
}
