import type { Row, SearchResult, Unit } from './storage.ts'

/** Maximum size of a page; a larger one is cut off and gets a `next` cursor. */
export const PAGE_BYTES = 1_048_576

/** Approximate size of a row: the characters of its texts, and 8 for any other value. */
export function rowBytes(row: Row): number {
  let size = 0
  for (const name in row) {
    const value = row[name]
    size += typeof value === 'string' ? value.length : 8
  }
  return size
}

/** Takes rows until they exceed `bytes`; the first row is always taken. */
export function takeUpTo(rows: Iterable<Row>, bytes: number): SearchResult {
  const taken: Row[] = []
  let left = bytes
  for (const row of rows) {
    left -= rowBytes(row)
    if (left < 0 && taken.length > 0) return { rows: taken, isTruncated: true }
    taken.push(row)
  }
  return { rows: taken, isTruncated: false }
}

/** Characters of a unit: its texts, and each distinct SQL text once, because it is sent once. */
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
