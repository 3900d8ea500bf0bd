import type { DecimalSign } from '../../lib/cell-text.ts'
import { isNumeric, type Model } from '../../model/model.ts'
import type { Row } from '../../storage/storage.ts'
import { createRowDecoder } from '../../tables/columns.ts'

/** Row formatters of an export. They run on the thread that reads the rows, not on the serving thread. */

export interface FormatInput {
  model: Model
  /** column names, in output order */
  columns: string[]
  delimiter: string
  /** prefixes texts that a spreadsheet would take for a formula with an apostrophe */
  safe: boolean
  bom: boolean
  /** before the fractions of numbers in CSV; a point if not given */
  decimal?: DecimalSign | undefined
  /** of times in a spreadsheet */
  zone: string
  /** of titles in a spreadsheet; those without a language, if it is empty */
  language: string
}

/** Writes each record as a line of JSON. */
export function ndjson({ model }: FormatInput) {
  const decode = createRowDecoder(model)
  return { head: '', format: (row: Row) => `${JSON.stringify(decode(row))}\n` }
}

/** Line end required by RFC 4180. */
const END = '\r\n'
/** First characters that a spreadsheet takes for the beginning of a formula. */
const FORMULA = /^[=+\-@\t\r]/

/**
 * Writes CSV as spreadsheets do. Null is an empty cell and an empty text is `""`, so an import reads both back
 * unchanged. Written by hand: the code is short, and a library took four times as long.
 */
export function csv({ model, columns, delimiter, safe, bom, decimal }: FormatInput) {
  const types = new Map(model.fields.map(({ name, type }) => [name, type]))
  const numbers = new Set(model.fields.filter(isNumeric).map(({ name }) => name))
  const links = new Set(model.fields.filter((field) => field.links).map(({ name }) => name))
  const special = new RegExp(`["\\r\\n\\uFEFF${delimiter === '\t' ? '\\t' : delimiter}]`)
  const quoted = (text: string) =>
    text === '' || special.test(text) || text !== text.trim() ? `"${text.replaceAll('"', '""')}"` : text
  const ofText = (text: string) => quoted(safe && FORMULA.test(text) ? `'${text}` : text)
  const createCellFormatter = (name: string): ((value: unknown) => string) => {
    // As people write it; a comma would have to be quoted.
    if (links.has(name))
      return (value) => quoted(String(value).replace(/^\[(.+)\]$/, (_, ids) => ids.replaceAll(',', ';')))
    if (numbers.has(name))
      return (value) => quoted(decimal === 'comma' ? String(value).replace('.', ',') : String(value))
    if (types.get(name) === 'boolean') return (value) => (value === 1 ? 'true' : 'false')
    if (types.get(name) === 'string') return (value) => ofText(value as string)
    return (value) => quoted(String(value))
  }
  const cells = columns.map((name) => ({ name, cell: createCellFormatter(name) }))
  return {
    head: (bom ? '\uFEFF' : '') + columns.join(delimiter) + END,
    format: (row: Row) =>
      cells.map(({ name, cell }) => (row[name] === null ? '' : cell(row[name]))).join(delimiter) + END,
  }
}
