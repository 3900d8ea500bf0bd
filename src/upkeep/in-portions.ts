import { setTimeout } from 'node:timers/promises'
import { nextPortion } from '../lib/portions.ts'
import type { Step, Storage } from '../storage/storage.ts'

/** How long others' writes may have to wait for a portion, about. */
const PORTION_MS = 20
const FIRST_PORTION = 50
const MAX_AT_ONCE = 1000

/** Drops what is old, in portions; `drop` says how to drop so many, and returns a row for each. What is cut short is taken up at the next look. */
export async function dropInPortions(
  storage: Storage,
  drop: (portion: number) => Step,
  onDropped: (count: number) => void,
  isOver: () => boolean,
): Promise<void> {
  let portion = FIRST_PORTION
  let isAll = false
  do {
    const start = performance.now()
    const [rows = []] = await storage.write({ steps: [drop(portion)] })
    const took = performance.now() - start
    onDropped(rows.length)
    isAll = rows.length < portion
    portion = nextPortion(portion, took, PORTION_MS, MAX_AT_ONCE)
    await setTimeout(took, undefined, { ref: false })
  } while (!isAll && !isOver())
}
