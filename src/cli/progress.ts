import type { Progress } from '../storage/storage.ts'
import { drawBar } from './rate.ts'

/** Returns a function that draws a progress bar; undefined if `output` is not a terminal. */
export function progressBar(output: NodeJS.WritableStream & { isTTY?: boolean }) {
  if (!output.isTTY) return undefined
  return ({ done, of }: Progress) => {
    output.write(`\r${drawBar(done / Math.max(of, 1))}${done === of ? '\n' : ''}`)
  }
}
