import type { User } from '../../model/access.ts'
import { ID_FIELD as ID, isOfType, type Model, type Models, VERSION_FIELD as VERSION } from '../../model/model.ts'
import type { Format } from '../../requests/bulk.ts'
import type { Row } from '../../storage/storage.ts'
import { type ImportColumn, parseColumn } from './columns.ts'
import { type Cell, CellFault, cellValue } from './parse-cell.ts'
import type { FileRow } from './read-rows.ts'

export interface Checking {
  model: Model
  models: Models
  user: User
  key?: string | undefined
  format: Format
}

/** Tells what is wrong: the line, the field or column, and why. */
export type Complain = (line: number, field: string, why: string) => void

/** A row with values under the names of fields, on the way to being right. */
export interface ParsedRow {
  line: number
  data: Row
  /** references that are named by another field than the id */
  named: { column: ImportColumn & { target: Model }; value: unknown }[]
  id: number | null
  version: number | null
  /** the record that it changes */
  stored?: Row
  /** what it will be */
  whole?: Row
  isWrong: boolean
}

/** Reads rows: which column is which field, and which cell which value. */
export function createRowParser({ model, models, format }: Checking, complain: Complain) {
  const columns = new Map<string, ImportColumn | CellFault>()

  function draft({ line, values }: FileRow): ParsedRow {
    const made: ParsedRow = { line, data: {}, named: [], id: null, version: null, isWrong: false }
    if (values instanceof CellFault) wrong(made, '', values.why)
    else for (const [name, given] of Object.entries(values)) take(made, name, given)
    return made
  }

  function take(into: ParsedRow, name: string, given: unknown): void {
    const column = columns.get(name) ?? parseColumn(name, model, models)
    columns.set(name, column)
    if (column instanceof CellFault) {
      // A wrong name of a column stands in the first line, once.
      wrong(into, name, column.why, format === 'csv' ? 1 : into.line)
      return
    }
    if ('ignored' in column) return
    const value = format === 'csv' ? cellValue(column.target ? column.by : column.field, given as Cell) : given
    const fault = value instanceof CellFault ? value.why : faultIn(into, column, value)
    if (fault) wrong(into, name, withValue(fault, given))
    else put(into, column, value)
  }

  function faultIn({ data }: ParsedRow, { field, target, by }: NamedColumn, value: unknown): string | undefined {
    if (Object.hasOwn(data, field.name)) return `"${field.name}" stands there twice`
    if (value === null) return undefined
    if (target && !isOfType(by, value)) return `must be of the type ${by.type}`
    const isNumbered = field === ID || field === VERSION
    return isNumbered && !Number.isSafeInteger(value) ? 'must be an integer' : undefined
  }

  function put(into: ParsedRow, column: NamedColumn, value: unknown): void {
    const { field, target } = column
    if (field === ID) into.id = value as number | null
    else if (field === VERSION) into.version = value as number | null
    else into.data[field.name] = value
    if (target && value !== null) into.named.push({ column, value })
  }

  function wrong(one: ParsedRow, name: string, why: string, line = one.line): void {
    one.isWrong = true
    complain(line, name, why)
  }

  return { draft, wrong }
}

type NamedColumn = Exclude<ImportColumn, { ignored: true }>

/** What is wrong, and with what. */
export function withValue(why: string, value: unknown): string {
  const text = typeof value === 'symbol' ? '""' : JSON.stringify(value)
  return `${why}: ${text.length > 80 ? `${text.slice(0, 80)} …` : text}`
}
