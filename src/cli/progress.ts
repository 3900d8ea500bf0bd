import { throttle } from '../lib/throttle.ts'
import type { Progress } from '../storage/storage.ts'

const WIDTH = 30
/** Interval between two lines of output, and between two updates of the bar on a terminal. */
const TELL_MS = 5000
const DRAW_MS = 100

/** The units of display, and how many counted items one unit has. */
const SIZES = { rows: 1, KB: 1000 }
type Unit = keyof typeof SIZES

type Output = NodeJS.WritableStream & { isTTY?: boolean }

/** Shows progress, rate and remaining time: as a bar on a terminal, otherwise as a line every few seconds. */
export function createProgress(output: Output, doing: string, unit: Unit, tellMs = output.isTTY ? DRAW_MS : TELL_MS) {
  const counted = (count: number) => `${Math.round(count / SIZES[unit]).toLocaleString('en')} ${unit}`
  const start = performance.now()
  const tell = ({ done, of }: Progress) => {
    const perMs = done / (performance.now() - start)
    const left = Math.ceil((of - done) / perMs / 1000)
    const words = `${counted(perMs * 1000)}/s, ${left} s left`
    if (output.isTTY) output.write(`\r${doing} ${drawBar(done / of)} ${words}   `)
    else output.write(`${doing}: ${counted(done)} of ${counted(of)}, ${words}\n`)
  }
  const tellThrottled = throttle(tellMs, tell, Date.now())
  return {
    tell: (progress: Progress) => {
      if (progress.done > 0 && progress.of > 0) tellThrottled(progress)
    },
    /** Ends the line of the bar, so that further output begins on a new line. */
    end: () => void (output.isTTY && output.write('\n')),
  }
}

function drawBar(part: number): string {
  return `[${'#'.repeat(Math.round(part * WIDTH)).padEnd(WIDTH, '.')}] ${Math.round(part * 100)} %`
}

/** Returns a function that draws a progress bar; undefined if `output` is not a terminal. */
export function progressBar(output: Output) {
  if (!output.isTTY) return undefined
  return ({ done, of }: Progress) => {
    output.write(`\r${drawBar(done / Math.max(of, 1))}${done === of ? '\n' : ''}`)
  }
}
