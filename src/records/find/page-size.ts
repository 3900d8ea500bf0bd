import { PAGE_BYTES, rowBytes } from '../../storage/size.ts'
import type { Row } from '../../storage/storage.ts'

/**
 * How many rows fit into a page, at least one. A referenced record counts once for each row that contains it, because
 * the answer repeats it.
 */
export function rowsThatFit(rows: Row[]): number {
  const bytesByRow = new Map<Row, number>()
  let left = PAGE_BYTES
  for (const [index, row] of rows.entries()) {
    left -= recordBytes(row, bytesByRow)
    if (left < 0) return Math.max(1, index)
  }
  return rows.length
}

/** Bytes of a row with all its expanded records. */
export function recordBytes(row: Row, known: Map<Row, number> = new Map()): number {
  const before = known.get(row)
  if (before !== undefined) return before
  let weight = rowBytes(row)
  for (const name in row) {
    const inner = row[name]
    for (const record of recordsIn(inner)) weight += recordBytes(record, known)
  }
  known.set(row, weight)
  return weight
}

/**
 * Recognises expanded records by their `version`, also in an array, and in the `data` of an inverse field. JSON
 * documents are not counted here: they were measured as texts when the row was read. A document with a key `version`
 * counts twice, which only makes the page smaller.
 */
function recordsIn(value: unknown): Row[] {
  if (isRecord(value)) return [value]
  const { data = value } = Object(value) as { data?: unknown }
  return Array.isArray(data) ? data.filter(isRecord) : []
}

const isRecord = (value: unknown): value is Row => typeof value === 'object' && value !== null && 'version' in value
