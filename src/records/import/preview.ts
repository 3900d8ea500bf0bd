import type { Database } from '../../storage/storage.ts'
import { WorkbookError } from '../../xlsx/read-book.ts'
import { readSheet, type SheetValue } from '../../xlsx/read-sheet.ts'

export interface PreviewInput {
  file: string
  /** maximum length of a row, in characters */
  longest: number
}

/** The first rows of a spreadsheet as texts, or why it cannot be read. */
export type Preview = { columns: string[]; rows: string[][] } | { fault: string }

const MAX_ROWS = 200
const MAX_CELL = 200
const MAX_COLUMNS = 1000
/** Characters of a preview: more would only take time to send. */
const MAX_CHARACTERS = 1_000_000

const cellText = (value: SheetValue) => (typeof value === 'string' ? value.slice(0, MAX_CELL) : '')

/** Reads the heading and the first rows of a spreadsheet. Runs as a read job on its own thread, like the check. */
export async function previewSheet(_db: Database, { file, longest }: PreviewInput): Promise<Preview> {
  const read: string[][] = []
  let characters = 0
  try {
    for await (const { cells } of readSheet(file, { longest, onBytes() {} })) {
      const row = cells.slice(0, MAX_COLUMNS).map(cellText)
      read.push(row)
      characters += row.join().length
      if (read.length > MAX_ROWS || characters > MAX_CHARACTERS) break
    }
  } catch (error) {
    if (error instanceof WorkbookError) return { fault: error.message }
    throw error
  }
  const [columns = [], ...rows] = read
  return { columns, rows }
}
