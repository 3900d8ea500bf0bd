import { type DecimalSign, isoDate, plainNumber, yesOrNo } from '../../lib/cell-text.ts'
import { isTooDeep, MAX_DEPTH } from '../../lib/depth.ts'
import { hasLoneEscape, LONE_ESCAPE_FAULT } from '../../lib/json-keys.ts'
import { inexactNumbers, isExact } from '../../lib/json-numbers.ts'
import { isClockTime, parseClockTime } from '../../lib/zoned-time.ts'
import { type Field, ID_FIELD, simpleItems } from '../../model/model.ts'
import { valueOfTitle } from '../headings.ts'

/** Why a cell or row cannot be parsed. */
export class CellFault {
  readonly why: string

  constructor(why: string) {
    this.why = why
  }
}

/** Stands for a quoted empty cell (`""`), which is an empty text; an unquoted empty cell is null. */
export const EMPTY_TEXT = Symbol('empty text')

/** A cell of CSV or of a spreadsheet. */
export type Cell = string | typeof EMPTY_TEXT | CellFault

const DECIMAL = /^-?\d+(?:\.\d+)?$/
const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,4})?$/

/** How the cells of a file are to be read. */
interface CellReading {
  /** finds how far the clocks of a zone are ahead of UTC, for times that name none */
  offset?: ((time: number) => number) | undefined
  decimal?: DecimalSign | undefined
}

/** Parses a cell by the type of its field; an empty cell is null. The model's rules are checked later. */
export function cellValue(field: Field, cell: Cell, reading: CellReading): unknown {
  const { type } = field
  if (cell instanceof CellFault) return cell
  if (type === 'string' && cell === EMPTY_TEXT) return mayBeEmpty(field) ? '' : null
  if (type === 'string') return cell === '' ? null : textValue(field, cell as string, reading)
  if (cell === EMPTY_TEXT || cell.trim() === '') return null
  const text = cell.trim()
  if (field.links) return severalValues(ID_FIELD, text, reading)
  if (type === 'boolean') return parseBoolean(text)
  if (type === 'array') return listValue(field, text, reading)
  if (type === 'object') return parseDocument(text)
  return parseNumber(text, reading)
}

/** Between two values in a cell. A value that has one itself is written in a JSON array. */
const BETWEEN = ';'

/** Parses a cell with several values, `3;4` or a JSON array, each by the type of a field. */
export function severalValues(field: Field, cell: Cell, reading: CellReading): unknown {
  if (cell instanceof CellFault) return cell
  if (cell === EMPTY_TEXT || cell.trim() === '') return null
  if (cell.trim().startsWith('[')) return parseDocument(cell)
  const values = cell.split(BETWEEN).map((one) => cellValue(field, one.trim(), reading))
  return values.find((value) => value instanceof CellFault) ?? values
}

/** Texts or numbers as people write them, `vip; new`; anything else as JSON. */
function listValue(field: Field, text: string, reading: CellReading): unknown {
  const type = simpleItems(field)
  if (!type || text.startsWith('[')) return parseDocument(text)
  return severalValues({ ...ID_FIELD, type, schema: {} }, text, reading)
}

/** Some programs quote all cells, so `""` means null for a field that does not allow an empty text. */
function mayBeEmpty({ schema }: Field): boolean {
  const { format, minLength = 0, enum: values = [''], pattern } = schema as TextRules
  return (
    format === undefined && minLength === 0 && values.includes('') && (!pattern || new RegExp(pattern, 'u').test(''))
  )
}

interface TextRules {
  format?: string
  minLength?: number
  enum?: unknown[]
  pattern?: string
}

function parseBoolean(text: string): boolean | CellFault {
  return yesOrNo(text) ?? new CellFault('must be true or false')
}

/** Days and decimal numbers as a spreadsheet writes them in its country, as far as they mean only one thing. */
function textValue(field: Field, cell: string, { offset, decimal }: CellReading): string | CellFault {
  const { format, titles, schema } = field
  const isOther = titles && !(schema.enum as unknown[] | undefined)?.includes(cell)
  const titled = isOther ? valueOfTitle(field, cell) : undefined
  if (titled !== undefined) return titled
  if (format === 'date') return isoDate(cell.trim().replace(/T00:00:00$/, '')) ?? cell
  if (format === 'date-time') return momentValue(cell, offset)
  if (format !== 'decimal') return cell
  const plain = plainNumber(cell, decimal)
  if (plain === undefined && decimal) return wrongSign(decimal)
  // A message about it quotes the cell.
  return plain !== undefined && DECIMAL.test(plain) ? plain : cell
}

const wrongSign = (decimal: DecimalSign) => new CellFault(`must be a number with a ${decimal} before its fraction`)

/** A time that names no zone is one of the zone that the import names. */
function momentValue(cell: string, offset: CellReading['offset']): string | CellFault {
  const text = cell.trim()
  if (!offset) return isClockTime(text) ? new CellFault(NO_ZONE) : cell
  return parseClockTime(text, offset) ?? cell
}

const NO_ZONE = 'names no time zone: add Z or +02:00, or give the import a zone, such as zone=Europe/Oslo'

/** `1234,5` is clear; `1,234` is not, because it means different things in different countries. */
function parseNumber(cell: string, { decimal }: CellReading): number | CellFault {
  const known = plainNumber(cell, decimal)
  if (known === undefined && decimal) return wrongSign(decimal)
  const text = known ?? cell
  if (!NUMBER.test(text)) return new CellFault(`must be a number such as ${decimal === 'comma' ? '1234,5' : '1234.5'}`)
  const plain = text
    .replace(/^\+/, '')
    .replace(/^(-?)\./, '$10.')
    .replace(/\.(?=e|E|$)/, '')
  return isExact(plain) ? Number(plain) : new CellFault(INEXACT)
}

const INEXACT = 'is a number that cannot be kept exactly'

/** Parses JSON; returns a `CellFault` if it is invalid or cannot be stored as it is. */
export function parseDocument(text: string): unknown {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return new CellFault('is not valid JSON')
  }
  if (isTooDeep(value)) return new CellFault(`is nested deeper than ${MAX_DEPTH} levels`)
  if (hasLoneEscape(text)) return new CellFault(LONE_ESCAPE_FAULT)
  const [inexact] = inexactNumbers(text, 1)
  return inexact ? new CellFault(`${inexact.join('.')} ${INEXACT}`.trim()) : value
}
