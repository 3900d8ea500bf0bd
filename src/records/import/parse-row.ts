import type { Person } from '../../model/access.ts'
import { ID_FIELD as ID, isOfType, type Model, type Models, VERSION_FIELD as VERSION } from '../../model/model.ts'
import type { Format } from '../../requests/bulk.ts'
import type { Row } from '../../storage/storage.ts'
import { type Cell, cellValue, Fault } from './parse-cell.ts'
import { type Column, columnOf } from './columns.ts'
import type { FileRow } from './read-rows.ts'

export interface Checking {
  model: Model
  models: Models
  person: Person
  key?: string | undefined
  format: Format
}

/** Tells what is wrong: the line, the field or column, and why. */
export type Complain = (line: number, field: string, why: string) => void

/** A row with values under the names of fields, on the way to being right. */
export interface Draft {
  line: number
  data: Row
  /** references that are named by another field than the id */
  named: { column: Column & { target: Model }; value: unknown }[]
  id: number | null
  version: number | null
  /** the record that it changes */
  stored?: Row
  /** what it will be */
  whole?: Row
  isWrong: boolean
}

/** Reads rows: which column is which field, and which cell which value. */
export function drafterOf({ model, models, format }: Checking, complain: Complain) {
  const columns = new Map<string, Column | Fault>()

  function draft({ line, values }: FileRow): Draft {
    const made: Draft = { line, data: {}, named: [], id: null, version: null, isWrong: false }
    if (values instanceof Fault) wrong(made, '', values.why)
    else for (const [name, given] of Object.entries(values)) take(made, name, given)
    return made
  }

  function take(into: Draft, name: string, given: unknown): void {
    const column = columns.get(name) ?? columnOf(name, model, models)
    columns.set(name, column)
    if (column instanceof Fault) {
      // A wrong name of a column stands in the first line, once.
      wrong(into, name, column.why, format === 'csv' ? 1 : into.line)
      return
    }
    if ('ignored' in column) return
    const value = format === 'csv' ? cellValue(column.target ? column.by : column.field, given as Cell) : given
    const fault = value instanceof Fault ? value.why : faultIn(into, column, value)
    if (fault) wrong(into, name, withValue(fault, given))
    else put(into, column, value)
  }

  function faultIn({ data }: Draft, { field, target, by }: NamedColumn, value: unknown): string | undefined {
    if (Object.hasOwn(data, field.name)) return `"${field.name}" stands there twice`
    if (value === null) return undefined
    if (target && !isOfType(by, value)) return `must be of the type ${by.type}`
    const isNumbered = field === ID || field === VERSION
    return isNumbered && !Number.isSafeInteger(value) ? 'must be an integer' : undefined
  }

  function put(into: Draft, column: NamedColumn, value: unknown): void {
    const { field, target } = column
    if (field === ID) into.id = value as number | null
    else if (field === VERSION) into.version = value as number | null
    else into.data[field.name] = value
    if (target && value !== null) into.named.push({ column, value })
  }

  function wrong(one: Draft, name: string, why: string, line = one.line): void {
    one.isWrong = true
    complain(line, name, why)
  }

  return { draft, wrong }
}

type NamedColumn = Exclude<Column, { ignored: true }>

/** What is wrong, and with what. */
export function withValue(why: string, value: unknown): string {
  const text = typeof value === 'symbol' ? '""' : JSON.stringify(value)
  return `${why}: ${text.length > 80 ? `${text.slice(0, 80)} …` : text}`
}
