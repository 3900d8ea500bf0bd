import type { Progress } from '../database/backup.ts'

const WIDTH = 30

/** Draws a bar on a terminal; elsewhere there is nothing to draw on. */
export function progressBar(output: NodeJS.WritableStream & { isTTY?: boolean }) {
  if (!output.isTTY) return undefined
  return ({ totalPages, remainingPages }: Progress) => {
    const done = 1 - remainingPages / Math.max(totalPages, 1)
    const bar = '#'.repeat(Math.round(done * WIDTH)).padEnd(WIDTH, '.')
    output.write(`\r[${bar}] ${Math.round(done * 100)} %${remainingPages === 0 ? '\n' : ''}`)
  }
}
