import { setTimeout } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import type { Storage } from '../storage/storage.ts'

/** How often it is looked whether there is something to drop. */
const LOOK_MS = 60_000
/** How long others' writes may have to wait for a portion, about. */
const PORTION_MS = 20
const FIRST_PORTION = 50
const MOST_AT_ONCE = 1000
const DAY_MS = 86_400_000

/** The oldest, up to the first that is young enough; the newest always stays, so that numbers go on. */
const PRUNE = `
  WITH oldest AS (SELECT change, at FROM dossier_changes ORDER BY change LIMIT ?)
  DELETE FROM dossier_changes WHERE change <= (SELECT max(change) FROM oldest)
  AND change < coalesce((SELECT min(change) FROM oldest WHERE at >= ?), (SELECT max(change) FROM dossier_changes))
  RETURNING change`

/** Drops changes that are older than HISTORY_DAYS, in portions. Returns how to stop. */
export function schedulePruning(
  storage: Storage,
  { HISTORY_DAYS }: Config,
  log: Logger,
  onPruned: (changes: number) => void,
  lookMs = LOOK_MS,
): () => void {
  if (HISTORY_DAYS === 0) return () => {}
  let stopped = false
  const isOver = () => stopped
  let under = Promise.resolve()
  const look = () => {
    under = under.then(async () => {
      try {
        await prune(storage, new Date(Date.now() - HISTORY_DAYS * DAY_MS), onPruned, isOver)
      } catch (error) {
        log.warn(error, 'old changes could not be dropped')
      }
    })
  }
  const timer = setInterval(look, lookMs).unref()
  look()
  return () => {
    stopped = true
    clearInterval(timer)
  }
}

/** Whatever is cut short is taken up at the next look. */
export async function prune(
  storage: Storage,
  before: Date,
  onPruned: (changes: number) => void,
  isOver = () => false,
): Promise<void> {
  for (let portion = FIRST_PORTION; ; ) {
    const start = performance.now()
    const [rows = []] = await storage.write({ steps: [{ sql: PRUNE, parameters: [portion, before.toISOString()] }] })
    const took = performance.now() - start
    onPruned(rows.length)
    if (rows.length < portion) return
    portion = Math.max(1, Math.min(Math.ceil((portion * PORTION_MS) / took), portion * 2, MOST_AT_ONCE))
    await setTimeout(took, undefined, { ref: false })
    if (isOver()) return
  }
}
