import { throttle } from '../lib/throttle.ts'
import type { Progress } from '../storage/storage.ts'

const WIDTH = 30
/** How often it is told where there is no terminal to draw on, and how often it is drawn on one. */
const TELL_MS = 5000
const DRAW_MS = 100

/** What is counted, and how many of it are one. */
const SIZES = { rows: 1, KB: 1000 }
type Unit = keyof typeof SIZES

type Output = NodeJS.WritableStream & { isTTY?: boolean }

/** Tells how far it has come, how fast, and how long it will take: a bar on a terminal, else a line now and then. */
export function createRate(output: Output, doing: string, unit: Unit, tellMs = output.isTTY ? DRAW_MS : TELL_MS) {
  const counted = (count: number) => `${Math.round(count / SIZES[unit]).toLocaleString('en')} ${unit}`
  const start = performance.now()
  const tell = ({ done, of }: Progress) => {
    const perMs = done / (performance.now() - start)
    const left = Math.ceil((of - done) / perMs / 1000)
    const words = `${counted(perMs * 1000)}/s, ${left} s left`
    if (output.isTTY) output.write(`\r${doing} ${drawBar(done / of)} ${words}   `)
    else output.write(`${doing}: ${counted(done)} of ${counted(of)}, ${words}\n`)
  }
  const tellSeldom = throttle(tellMs, tell, Date.now())
  return {
    tell: (progress: Progress) => {
      if (progress.done > 0 && progress.of > 0) tellSeldom(progress)
    },
    /** Leaves the bar as it is; what comes next begins a line of its own. */
    end: () => void (output.isTTY && output.write('\n')),
  }
}

export function drawBar(part: number): string {
  return `[${'#'.repeat(Math.round(part * WIDTH)).padEnd(WIDTH, '.')}] ${Math.round(part * 100)} %`
}
