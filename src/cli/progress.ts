import type { Progress } from '../storage/storage.ts'

const WIDTH = 30

/** Draws a bar on a terminal; elsewhere there is nothing to draw on. */
export function progressBar(output: NodeJS.WritableStream & { isTTY?: boolean }) {
  if (!output.isTTY) return undefined
  return ({ done, of }: Progress) => {
    const part = done / Math.max(of, 1)
    const bar = '#'.repeat(Math.round(part * WIDTH)).padEnd(WIDTH, '.')
    output.write(`\r[${bar}] ${Math.round(part * 100)} %${done === of ? '\n' : ''}`)
  }
}
