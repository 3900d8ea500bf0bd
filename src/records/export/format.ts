import type { Model } from '../../model/model.ts'
import type { Row } from '../../storage/storage.ts'
import { rowDecoder } from '../../tables/columns.ts'

/** How records become text, one after the other: where they are gone through, off the serving thread. */

export interface TextInput {
  model: Model
  /** in this order */
  columns: string[]
  delimiter: string
  /** texts that a spreadsheet would take for a formula are made harmless */
  safe: boolean
}

/** Each record as a line of JSON. */
export function ndjson({ model }: TextInput) {
  const decode = rowDecoder(model)
  return { head: '', textOf: (row: Row) => `${JSON.stringify(decode(row))}\n` }
}

/** Lines end as RFC 4180 has it. */
const END = '\r\n'
/** What a spreadsheet takes for the beginning of a formula. */
const FORMULA = /^[=+\-@\t\r]/

/**
 * Comma-separated values, as spreadsheets write them. Nothing is an empty cell, and an empty text is `""`: both come back
 * as they were. By hand, for it is a line, and a library took four times as long.
 */
export function csv({ model, columns, delimiter, safe }: TextInput) {
  const types = new Map(model.fields.map(({ name, type }) => [name, type]))
  const special = new RegExp(`["\\r\\n\\uFEFF${delimiter === '\t' ? '\\t' : delimiter}]`)
  const quoted = (text: string) =>
    text === '' || special.test(text) || text !== text.trim() ? `"${text.replaceAll('"', '""')}"` : text
  const ofText = (text: string) => quoted(safe && FORMULA.test(text) ? `'${text}` : text)
  const createCellFormatter = (name: string): ((value: unknown) => string) => {
    if (types.get(name) === 'boolean') return (value) => (value === 1 ? 'true' : 'false')
    if (types.get(name) === 'string') return (value) => ofText(value as string)
    return (value) => quoted(String(value))
  }
  const cells = columns.map((name) => ({ name, cell: createCellFormatter(name) }))
  return {
    head: columns.join(delimiter) + END,
    textOf: (row: Row) =>
      cells.map(({ name, cell }) => (row[name] === null ? '' : cell(row[name]))).join(delimiter) + END,
  }
}
