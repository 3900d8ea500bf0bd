import type { Row } from './storage.ts'

/** Roughly what a row takes: the characters of its texts, and a little for all else. */
export function sizeOf(row: Row): number {
  let size = 0
  for (const name in row) {
    const value = row[name]
    size += typeof value === 'string' ? value.length : 8
  }
  return size
}
