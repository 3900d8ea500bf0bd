import { setTimeout } from 'node:timers/promises'
import { nextPortion } from '../lib/portions.ts'
import type { Row, Storage } from '../storage/storage.ts'

/** How long others' writes may have to wait for a portion, about. */
const PORTION_MS = 20
const FIRST_PORTION = 50
const MOST_AT_ONCE = 1000

/** The oldest, up to the first that is young enough; the newest always stays, so that numbers go on. */
const PRUNE = `
  WITH oldest AS (SELECT change, at FROM dossier_changes ORDER BY change LIMIT ?)
  DELETE FROM dossier_changes WHERE change <= (SELECT max(change) FROM oldest)
  AND change < coalesce((SELECT min(change) FROM oldest WHERE at >= ?), (SELECT max(change) FROM dossier_changes))
  RETURNING change`

/** Drops changes that were made before a day, in portions. What is cut short is taken up at the next look. */
export async function prune(
  storage: Storage,
  before: Date,
  onPruned: (changes: number) => void,
  isOver = () => false,
): Promise<void> {
  let portion = FIRST_PORTION
  let isAll = false
  do {
    const start = performance.now()
    const [rows] = (await storage.write({
      steps: [{ sql: PRUNE, parameters: [portion, before.toISOString()] }],
    })) as [Row[]]
    const took = performance.now() - start
    onPruned(rows.length)
    isAll = rows.length < portion
    portion = nextPortion(portion, took, PORTION_MS, MOST_AT_ONCE)
    await setTimeout(took, undefined, { ref: false })
  } while (!isAll && !isOver())
}
