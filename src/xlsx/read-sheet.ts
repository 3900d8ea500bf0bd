import {
  type Book,
  listFiles,
  MAX_SHEET_BYTES,
  openFile,
  openZip,
  readBook,
  TextElements,
  unescapeText,
  WorkbookError,
} from './read-book.ts'
import { fromSerial, SINCE_1904 } from './serial-dates.ts'
import { parseXml, XmlError } from './xml.ts'

/** Reads the first sheet of a workbook row by row. Its texts are in memory, the rows are not. */

/** A cell as text: numbers with a point, dates as in ISO 8601, `true` and `false`. Undefined: nothing is in it. */
export type SheetValue = string | SheetFault | undefined

/** Why a cell has no value. */
export class SheetFault {
  readonly why: string

  constructor(why: string) {
    this.why = why
  }
}

export interface SheetRow {
  /** from 1 */
  number: number
  cells: SheetValue[]
}

interface SheetLimits {
  /** columns that have anything in them */
  columns: number
  rows: number
  /** characters of all cells together; a text that many cells refer to counts for each */
  characters: number
  /** characters of the texts that cells refer to, which are in memory */
  texts: number
}

/** Spreadsheets have no more rows. */
const LIMITS: SheetLimits = { columns: 5000, rows: 1_048_576, characters: 1_073_741_824, texts: 50_000_000 }

/**
 * A number of few digits, which is kept as it is written: `12.50`. Spreadsheets write others as `0.10000000000000001`.
 */
const PLAIN = /^-?(?=[\d.]{1,16}$)\d+(?:\.\d+)?$/

export interface ReadingSheet {
  /** called with packed bytes as they are read */
  onBytes(count: number): void
  /** maximum length of a row, in characters */
  longest: number
  limits?: Partial<SheetLimits>
}

/** The rows of the first visible sheet that have anything in them. */
export async function* readSheet(
  file: string,
  { onBytes, longest, limits: given }: ReadingSheet,
): AsyncGenerator<SheetRow> {
  const limits = { ...LIMITS, ...given }
  const zip = await openZip(file)
  try {
    const files = await listFiles(zip)
    const book = await readBook(zip, files, limits.texts)
    const share = book.sheet.compressedSize / Math.max(1, book.sheet.uncompressedSize)
    const source = await openFile(zip, book.sheet, MAX_SHEET_BYTES)
    const rows = new RowCollector(book, longest, limits)
    for await (const length of parseXml(source, rows)) {
      onBytes(length * share)
      yield* rows.takeRows()
    }
  } catch (error) {
    throw explain(error)
  } finally {
    zip.close()
  }
}

/** Faults of the file in words for people; others, of the disk for example, stay what they are. */
function explain(error: unknown): unknown {
  if (error instanceof XmlError) return new WorkbookError(`is not a valid spreadsheet: ${error.message}`)
  const isOfZip = error instanceof Error && !(error instanceof WorkbookError) && !('syscall' in error)
  return isOfZip ? new WorkbookError(`is not a whole spreadsheet: ${error.message}`) : error
}

/** Collects the rows of a sheet from its XML. */
class RowCollector {
  readonly #book: Book
  readonly #longest: number
  readonly #limits: SheetLimits
  #rows: SheetRow[] = []
  #number = 0
  #cells: SheetValue[] = []
  #length = 0
  #characters = 0
  #count = 0
  #at = -1
  #type = 'n'
  #style = 0
  #value: string | undefined
  #hasFormula = false
  #isValue = false
  readonly #text = new TextElements()

  constructor(book: Book, longest: number, limits: SheetLimits) {
    this.#book = book
    this.#longest = longest
    this.#limits = limits
  }

  takeRows(): SheetRow[] {
    const rows = this.#rows
    this.#rows = []
    return rows
  }

  onOpen(name: string, { r, t = 'n', s = '0' }: Record<string, string>): void {
    this.#text.open(name)
    if (name === 'row') {
      const number = Number(r)
      this.#number = Number.isSafeInteger(number) && number > this.#number ? number : this.#number + 1
      if (++this.#count > this.#limits.rows) throw new WorkbookError(`has more than ${this.#limits.rows} rows`)
      this.#cells = []
      this.#length = 0
      this.#at = -1
    } else if (name === 'c') {
      this.#at = r === undefined ? this.#at + 1 : columnIndex(r)
      this.#type = t
      this.#style = Number(s)
      this.#value = t === 'inlineStr' ? '' : undefined
      this.#hasFormula = false
    } else if (name === 'f') this.#hasFormula = true
    else if (name === 'v') {
      this.#isValue = true
      this.#value ??= ''
    }
  }

  onText(text: string): void {
    if (!this.#isValue && !this.#text.isOpen) return
    this.#value = (this.#value ?? '') + text
    this.#grow(text.length)
  }

  #grow(length: number): void {
    this.#length += length
    this.#characters += length
    if (this.#length > this.#longest)
      throw new WorkbookError(`has a row of more than ${this.#longest} characters: row ${this.#number}`)
    if (this.#characters > this.#limits.characters) throw new WorkbookError('has too much text in it. Save it as CSV')
  }

  onClose(name: string): void {
    this.#text.close(name)
    if (name === 'v') this.#isValue = false
    else if (name === 'c') this.#setCell(this.#cellValue())
    else if (name === 'row' && this.#cells.some((cell) => cell !== undefined))
      this.#rows.push({ number: this.#number, cells: Array.from(this.#cells) })
  }

  /** Skips cells without a value: spreadsheets write empty cells with a style far to the right of all others. */
  #setCell(value: SheetValue): void {
    if (value === undefined) return
    if (!(this.#at < this.#limits.columns))
      throw new WorkbookError(`has a cell beyond column ${this.#limits.columns}, or in none: row ${this.#number}`)
    this.#cells[this.#at] = value
  }

  #sharedText(value: string): SheetValue {
    const text = this.#book.texts[Number(value)]
    if (text === undefined) return new SheetFault('refers to a text that is not there')
    this.#grow(text.length)
    return text
  }

  #cellValue(): SheetValue {
    const value = this.#value
    if (value === undefined)
      return this.#hasFormula
        ? new SheetFault('is a formula without a value. Open and save it in a spreadsheet')
        : undefined
    if (this.#type === 's') return this.#sharedText(value)
    if (this.#type === 'inlineStr' || this.#type === 'str') return unescapeText(value)
    if (this.#type === 'b') return /^(?:1|true)$/i.test(value.trim()) ? 'true' : 'false'
    if (this.#type === 'e') return new SheetFault(`is an error of the spreadsheet, ${value}`)
    return this.#type === 'd' ? value : this.#numberText(value)
  }

  #numberText(value: string): SheetValue {
    const number = Number(value)
    if (value.trim() === '') return undefined
    if (!Number.isFinite(number)) return value
    const kind = this.#book.kinds[this.#style]
    const serial = number + (this.#book.is1904 ? SINCE_1904 : 0)
    return (kind && fromSerial(serial, kind)) ?? (PLAIN.test(value) ? value : plainText(number))
  }
}

/** A number without an exponent: `1e-7` is `0.0000001`. */
function plainText(number: number): string {
  const parts = /^(-?)(\d)(?:\.(\d+))?e([+-]\d+)$/.exec(String(number))
  if (!parts) return String(number)
  const [, sign = '', whole = '', fraction = '', power] = parts
  const digits = whole + fraction
  const point = 1 + Number(power)
  if (point <= 0) return `${sign}0.${'0'.repeat(-point)}${digits}`
  return sign + digits.padEnd(point, '0')
}

/** The column of a place such as `AB12`, from 0; NaN if there is none. */
function columnIndex(place: string): number {
  const letters = /^[A-Z]{1,3}/.exec(place)?.[0]
  if (!letters) return Number.NaN
  return [...letters].reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0) - 1
}
