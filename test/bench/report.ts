import { formatTable } from '../../src/cli/table.ts'

export const say = (text: string) => process.stdout.write(`${text}\n`)

export function table(title: string, heads: string[], rows: string[][]): void {
  say(`\n${title}`)
  say(formatTable(heads, rows))
}

export const median = (numbers: number[]) => percentile(numbers, 0.5)

/** The number below which this part of them lies; the largest one for 1. */
export function percentile(numbers: number[], part: number): number {
  return numbers.toSorted((a, b) => a - b)[Math.min(numbers.length - 1, Math.floor(numbers.length * part))] as number
}
