/** Formats rows under a heading; each column is as wide as its longest cell. */
export function formatTable(heading: string[], rows: string[][]): string {
  const all = [heading, ...rows]
  const widths = heading.map((_, column) => Math.max(...all.map((row) => (row[column] as string).length)))
  const lines = all.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] as number))
      .join('  ')
      .trimEnd(),
  )
  return `${lines.join('\n')}\n`
}
