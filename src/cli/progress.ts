import type { Progress } from '../storage/storage.ts'
import { drawBar } from './rate.ts'

/** Draws a bar on a terminal; elsewhere there is nothing to draw on. */
export function progressBar(output: NodeJS.WritableStream & { isTTY?: boolean }) {
  if (!output.isTTY) return undefined
  return ({ done, of }: Progress) => {
    output.write(`\r${drawBar(done / Math.max(of, 1))}${done === of ? '\n' : ''}`)
  }
}
