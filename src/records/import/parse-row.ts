import type { DecimalSign } from '../../lib/cell-text.ts'
import { createOffsetFinder } from '../../lib/zoned-time.ts'
import type { User } from '../../model/access.ts'
import { ID_FIELD, isOfType, type Model, type Models, VERSION_FIELD } from '../../model/model.ts'
import type { BulkFormat } from '../../requests/bulk.ts'
import type { Row } from '../../storage/storage.ts'
import { RECORD_ID } from '../headings.ts'
import { type ImportColumn, parseColumn } from './columns.ts'
import { type Cell, CellFault, cellValue, severalValues } from './parse-cell.ts'
import type { FileRow } from './read-rows.ts'

export interface CheckContext {
  model: Model
  models: Models
  user: User
  key?: string | undefined
  format: BulkFormat
  zone?: string | undefined
  decimal?: DecimalSign | undefined
}

/** Reports a fault: the line, the field or column, and the reason. */
export type ReportFault = (line: number, field: string, why: string) => void

/** A row with its values by field name; the checks complete it step by step. */
export interface ParsedRow {
  line: number
  data: Row
  /** references that are given by another field than the id */
  named: { column: ImportColumn & { target: Model }; value: unknown }[]
  id: number | null
  version: number | null
  /** the record that the row updates */
  stored?: Row
  /** the record that will result from the row */
  predicted?: Row
  isWrong: boolean
}

/** Why a column is none, with a hint if another delimiter separates its names. */
function columnFault(name: string, { why }: CellFault): string {
  const other = name.includes(';') ? 'semicolon' : name.includes('\t') ? 'tab' : undefined
  return other ? `${why} If a ${other} separates the columns, say delimiter=${other}.` : why
}

/** Reports the columns of a table that are none, even if the file has no rows. */
export function checkColumns(names: string[], model: Model, models: Models, reportFault: ReportFault): void {
  for (const name of names) {
    const column = parseColumn(name, model, models)
    if (column instanceof CellFault) reportFault(1, name, columnFault(name, column))
  }
}

/** Maps columns to fields and cells to values. */
export function createRowParser({ model, models, format, zone, decimal }: CheckContext, reportFault: ReportFault) {
  const isTable = format !== 'ndjson'
  const reading = { offset: zone === undefined ? undefined : createOffsetFinder(zone), decimal }
  const columns = new Map<string, ImportColumn | CellFault>()

  function parseRow({ line, values }: FileRow): ParsedRow {
    const made: ParsedRow = { line, data: {}, named: [], id: null, version: null, isWrong: false }
    if (values instanceof CellFault) rejectRow(made, '', values.why)
    else for (const [name, given] of Object.entries(values)) parseColumnValue(made, name, given)
    return made
  }

  function parseColumnValue(into: ParsedRow, name: string, given: unknown): void {
    const column = columns.get(name) ?? parseColumn(name, model, models)
    columns.set(name, column)
    if (column instanceof CellFault) {
      // In a table an unknown column is a fault of the first line, so it is reported once.
      rejectRow(into, name, columnFault(name, column), isTable ? 1 : into.line)
      return
    }
    if ('ignored' in column) return
    // A spreadsheet names records; one that has no name is given by its id.
    const id = format === 'xlsx' && column.target && !column.field.links ? RECORD_ID.exec(String(given)) : null
    const used = id ? { field: column.field } : column
    const value = id ? Number(id[1]) : isTable ? valueIn(used, given as Cell) : given
    const fault = value instanceof CellFault ? value.why : faultIn(into, used, value)
    if (fault) rejectRow(into, name, given instanceof CellFault ? fault : withValue(fault, given))
    else storeValue(into, used, value)
  }

  function valueIn({ field, target, by }: NamedColumn, cell: Cell): unknown {
    if (!target) return cellValue(field, cell, reading)
    return field.links ? severalValues(by, cell, reading) : cellValue(by, cell, reading)
  }

  function faultIn({ data }: ParsedRow, { field, target, by }: NamedColumn, value: unknown): string | undefined {
    if (Object.hasOwn(data, field.name)) return `"${field.name}" occurs twice`
    if (value === null) return undefined
    // A change of what is there, as an update takes it, could not be checked before anything is written.
    if (field.links && !Array.isArray(value)) return `must be an array of ${target ? `the type ${by.type}` : 'ids'}`
    const values = field.links ? (value as unknown[]) : [value]
    if (target && !values.every((one) => isOfType(by, one))) return `must be of the type ${by.type}`
    const isNumbered = field === ID_FIELD || field === VERSION_FIELD
    return isNumbered && !Number.isSafeInteger(value) ? 'must be an integer' : undefined
  }

  function storeValue(into: ParsedRow, column: NamedColumn, value: unknown): void {
    const { field, target } = column
    if (field === ID_FIELD) into.id = value as number | null
    else if (field === VERSION_FIELD) into.version = value as number | null
    else into.data[field.name] = value
    if (target && value !== null) into.named.push({ column, value })
  }

  function rejectRow(one: ParsedRow, name: string, why: string, line = one.line): void {
    one.isWrong = true
    reportFault(line, name, why)
  }

  return { parseRow, rejectRow }
}

type NamedColumn = Exclude<ImportColumn, { ignored: true }>

/** Appends the value to a reason, shortened to 80 characters. */
export function withValue(why: string, value: unknown): string {
  const text = typeof value === 'symbol' ? '""' : JSON.stringify(value)
  return `${why}: ${text.length > 80 ? `${text.slice(0, 80)} …` : text}`
}
