import type { Row, SearchResult, Unit } from './storage.ts'

/** A page that would be larger ends earlier, with `next`. */
export const PAGE_BYTES = 1_048_576

/** Roughly what a row takes: the characters of its texts, and a little for all else. */
export function rowBytes(row: Row): number {
  let size = 0
  for (const name in row) {
    const value = row[name]
    size += typeof value === 'string' ? value.length : 8
  }
  return size
}

/** Rows as they come, until they get too large; the first always. */
export function takeUpTo(rows: Iterable<Row>, bytes: number): SearchResult {
  const taken: Row[] = []
  let left = bytes
  for (const row of rows) {
    left -= rowBytes(row)
    if (left < 0 && taken.length > 0) return { rows: taken, isCut: true }
    taken.push(row)
  }
  return { rows: taken, isCut: false }
}

/** Characters of what is sent of a unit. */
export function unitCharacters({ steps }: Unit): number {
  const texts = new Set<string>()
  let size = 0
  for (const { sql, parameters } of steps) {
    if (!texts.has(sql)) size += sql.length
    texts.add(sql)
    for (const value of parameters) if (typeof value === 'string') size += value.length
  }
  return size
}
