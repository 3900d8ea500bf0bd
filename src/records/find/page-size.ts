import { PAGE_BYTES, rowBytes } from '../../storage/size.ts'
import type { Row } from '../../storage/storage.ts'

/**
 * How many of the rows of a page there is room for, the first always. What a reference leads to counts as often as it is
 * in the answer, however many rows share it.
 */
export function rowsThatFit(rows: Row[]): number {
  const known = new Map<Row, number>()
  let left = PAGE_BYTES
  for (const [index, row] of rows.entries()) {
    left -= recordBytes(row, known)
    if (left < 0) return Math.max(1, index)
  }
  return rows.length
}

/** A row with all that has been put into it. */
function recordBytes(row: Row, known: Map<Row, number>): number {
  const before = known.get(row)
  if (before !== undefined) return before
  let weight = rowBytes(row)
  for (const name in row) {
    const inner = row[name]
    if (isRecord(inner)) weight += recordBytes(inner, known)
  }
  known.set(row, weight)
  return weight
}

/** A referred record: documents have no version, and are counted as texts before they are decoded. */
const isRecord = (value: unknown): value is Row => typeof value === 'object' && value !== null && 'version' in value
