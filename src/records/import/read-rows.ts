import { createReadStream } from 'node:fs'
import { pipeline, Readable } from 'node:stream'
import { CsvError, parse as parseCsv } from 'csv-parse'
import type { DecimalSign } from '../../lib/cell-text.ts'
import { isObject } from '../../lib/is-object.ts'
import { LineTooLongError, splitLines } from '../../lib/lines.ts'
import type { BulkFormat } from '../../requests/bulk.ts'
import { WorkbookError } from '../../xlsx/read-book.ts'
import { readSheet, SheetFault, type SheetValue } from '../../xlsx/read-sheet.ts'
import { type Cell, CellFault, EMPTY_TEXT, parseDocument } from './parse-cell.ts'

/** One row of a file, with the line in which it begins. */
export interface FileRow {
  line: number
  /** by column name: cells for CSV, values for JSON; or why the row cannot be parsed */
  values: Record<string, unknown> | CellFault
}

/** A fault that makes the rest of the file unreadable. */
export class UnreadableRow extends Error {
  readonly line: number

  constructor(line: number, why: string) {
    super(why)
    this.line = line
  }
}

/** More columns than any model can have. */
const MAX_COLUMNS = 5000
const EMPTY = 'is empty: the names of the columns are missing'
const NOT_UTF8 = 'is not UTF-8 text. A spreadsheet writes that as "CSV UTF-8"'

export interface FileFormat {
  format: BulkFormat
  delimiter: string
  /** time zone of times that name none */
  zone?: string | undefined
  /** what stands before the fractions of numbers */
  decimal?: DecimalSign | undefined
  /** column names that replace the first line; the column of an empty name is ignored */
  columns?: string[] | undefined
}

type OnBytes = (count: number) => void

interface ReadingFile {
  onBytes: OnBytes
  /** called with the names of a table's columns, before its rows */
  onColumns(names: string[]): void
  /** maximum length of a row, in characters */
  longest: number
}

export function readRows(file: string, how: FileFormat, reading: ReadingFile): AsyncGenerator<FileRow> {
  if (how.format === 'xlsx') return sheetRows(file, how, reading)
  return how.format === 'csv' ? csvRows(file, how, reading) : jsonRows(file, reading)
}

/** Reads the first sheet of a spreadsheet, with names in its first row that has anything in it. */
async function* sheetRows(
  file: string,
  { columns }: FileFormat,
  { onBytes, onColumns, longest }: ReadingFile,
): AsyncGenerator<FileRow> {
  let header: Header | undefined
  let line = 1
  try {
    for await (const row of readSheet(file, { onBytes, longest })) {
      line = row.number
      const record = row.cells.map(sheetCell)
      if (header) yield { line, values: byName(header, padCells(record, header.cells)) }
      else {
        header = namesIn(record, columns)
        onColumns(header.names.map(({ name }) => name))
      }
    }
  } catch (error) {
    throw error instanceof WorkbookError ? new UnreadableRow(line, error.message) : error
  }
  if (!header) throw new UnreadableRow(1, EMPTY)
}

function sheetCell(value: SheetValue): Cell {
  if (value instanceof SheetFault) return new CellFault(value.why)
  return value === '' ? EMPTY_TEXT : (value ?? '')
}

/** A row ends with its last cell that is not empty. */
function padCells(record: Cell[], cells: number): Cell[] {
  const filled = record.findLastIndex((cell) => cell !== '') + 1
  return Array.from({ length: Math.max(cells, filled) }, (_, index) => record[index] ?? '')
}

/** Reads CSV as spreadsheets write it: an optional byte order mark, any line ends, line breaks in quotes. */
async function* csvRows(
  file: string,
  { delimiter, columns }: FileFormat,
  { onBytes, onColumns, longest }: ReadingFile,
): AsyncGenerator<FileRow> {
  const parser = parseCsv({
    delimiter,
    info: true,
    relax_column_count: true,
    skip_empty_lines: true,
    record_delimiter: ['\r\n', '\n', '\r'],
    max_record_size: longest,
    cast: (value, { quoting }) => (quoting && value === '' ? EMPTY_TEXT : value) as string,
  })
  // `pipeline` forwards errors of the source to the parser, and the loop below throws them.
  pipeline(Readable.from(readText(file, onBytes)), parser, () => {})
  let header: Header | undefined
  /** line in which the next record begins */
  let line = 1
  let empty = 0
  try {
    for await (const { record, info } of parser as AsyncIterable<Parsed>) {
      line += info.empty_lines - empty
      empty = info.empty_lines
      if (header) yield { line, values: byName(header, record) }
      else {
        header = namesIn(record, columns)
        onColumns(header.names.map(({ name }) => name))
      }
      line += 1 + breaksIn(record)
    }
  } catch (error) {
    throw error instanceof CsvError ? new UnreadableRow(line, `is not right: ${error.message}`) : error
  }
  if (!header) throw new UnreadableRow(1, EMPTY)
}

interface Parsed {
  record: Cell[]
  info: { empty_lines: number }
}

/** The number of cells per row, and the names of the used columns. */
interface Header {
  cells: number
  names: { name: string; index: number }[]
}

function namesIn(record: Cell[], columns: string[] | undefined): Header {
  const cells = record.length
  if (cells > MAX_COLUMNS) throw new UnreadableRow(1, `has more than ${MAX_COLUMNS} columns`)
  if (columns && columns.length !== cells)
    throw new UnreadableRow(1, `has ${cells} columns, but "columns" names ${columns.length}`)
  const all = columns ?? record.map((name) => (typeof name === 'string' ? name : ''))
  const names = all.map((name, index) => ({ name: name.trim(), index })).filter(({ name }) => !columns || name !== '')
  const seen = new Set<string>()
  const twice = names.find(({ name }) => seen.size === seen.add(name).size)
  if (twice) throw new UnreadableRow(1, `has the column "${twice.name}" twice`)
  return { cells, names }
}

function byName({ cells, names }: Header, record: Cell[]): Record<string, unknown> | CellFault {
  if (record.length !== cells) return new CellFault(`has ${record.length} cells, but there are ${cells} columns`)
  return Object.fromEntries(names.map(({ name, index }) => [name, record[index]]))
}

/** Counts the line breaks within cells, of any kind. */
const breaksIn = (record: Cell[]) =>
  record.reduce((sum, cell) => sum + (typeof cell === 'string' ? (cell.match(/\r\n|\n|\r/g)?.length ?? 0) : 0), 0)

/** Reads one record per line; skips empty lines. */
async function* jsonRows(file: string, { onBytes, longest }: ReadingFile): AsyncGenerator<FileRow> {
  let line = 0
  try {
    for await (const text of splitLines(readText(file, onBytes), longest)) {
      line++
      if (text.trim() === '') continue
      const value = parseDocument(text)
      if (value instanceof CellFault) yield { line, values: value }
      else yield { line, values: isObject(value) ? value : new CellFault('must be an object') }
    }
  } catch (error) {
    throw error instanceof LineTooLongError ? new UnreadableRow(line + 1, error.message) : error
  }
}

/** Decodes the file as UTF-8; `TextDecoder` drops a byte order mark. */
async function* readText(file: string, onBytes: OnBytes): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let line = 1
  for await (const chunk of createReadStream(file, { highWaterMark: 262_144 }) as AsyncIterable<Uint8Array>) {
    const text = decoded(() => decoder.decode(chunk, { stream: true }), line)
    onBytes(chunk.length)
    line += text.split('\n').length - 1
    yield text
  }
  yield decoded(() => decoder.decode(), line)
}

function decoded(decode: () => string, line: number): string {
  try {
    return decode()
  } catch {
    throw new UnreadableRow(line, NOT_UTF8)
  }
}
