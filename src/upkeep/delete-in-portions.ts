import { setTimeout as sleep } from 'node:timers/promises'
import { nextPortion } from '../lib/next-portion.ts'
import type { Step, Storage } from '../storage/storage.ts'

/** Approximate time that other writes may wait for a portion. */
const PORTION_MS = 20
const FIRST_PORTION = 50
const MAX_AT_ONCE = 1000

/**
 * Deletes old rows in portions, with a pause after each as long as the portion took. `deleteStep` returns the step that
 * deletes up to `portion` rows and returns one row for each. After `isStopped` the rest waits for the next run.
 */
export async function deleteInPortions(
  storage: Storage,
  deleteStep: (portion: number) => Step,
  onDeleted: (count: number) => void,
  isStopped: () => boolean,
): Promise<void> {
  let portion = FIRST_PORTION
  let isAll = false
  do {
    const start = performance.now()
    const [rows = []] = await storage.write({ steps: [deleteStep(portion)] })
    const took = performance.now() - start
    onDeleted(rows.length)
    isAll = rows.length < portion
    portion = nextPortion(portion, took, PORTION_MS, MAX_AT_ONCE)
    await sleep(took, undefined, { ref: false })
  } while (!isAll && !isStopped())
}
