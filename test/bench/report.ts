import { formatTable } from '../../src/cli/table.ts'

export const say = (text: string) => process.stdout.write(`${text}\n`)

export function table(title: string, heads: string[], rows: string[][]): void {
  say(`\n${title}`)
  say(formatTable(heads, rows))
}

export function median(numbers: number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] as number
}
