import type { Field, Model } from '../model/model.ts'
import type { TableColumn, TableDialect, TableState } from '../storage/storage.ts'
import { columnType } from './columns.ts'
import { columnDefinition, foreignKeyFor } from './ddl.ts'
import { findColumn, hiddenColumns, type Takeover } from './plan-renames.ts'

/** A table made anew: what each column of it comes from. */
export interface Rebuild {
  sources: Source[]
  /** references to check: every value must name a record */
  references: Source[]
  /** stored columns that become computed, or make place for a takeover: they must be empty */
  discarded: { column: string; for?: string }[]
  /** columns without a field, kept with their data */
  hidden: TableColumn[]
}

/** Where a stored field's values come from: a column, perhaps of another type; or nowhere, then from its default. */
export interface Source {
  field: Field
  column?: string | undefined
  /** the column's type, if its values have to be converted */
  from?: string | undefined
}

/** What else asks for a new table. */
export interface Occasions {
  takeovers: Takeover[]
  /** new fields whose default many records get */
  fills: Field[]
  dialect: TableDialect
}

/** Another type, template or reference needs a new table: SQLite cannot change a column in place. */
export function planRebuild(model: Model, table: TableState, columns: TableColumn[], occasions: Occasions) {
  const { takeovers, fills, dialect } = occasions
  const stored = model.fields.filter((field) => !field.computed)
  const sources = stored.map((field) => findSource(field, columns, takeovers))
  const conversions = sources.filter(({ from }) => from !== undefined)
  const there = stored.flatMap((field) => {
    const column = findColumn(field, columns)
    return column && !takeovers.some((takeover) => takeover.field === field) ? [{ field, column }] : []
  })
  const references = there.filter(({ field, column }) => !isSameKey(field, column))
  const wasComputed = there.filter(({ column }) => column.generated)
  const templates = model.fields.filter((field) => {
    const column = field.computed && findColumn(field, columns)
    return column && !column.generated?.includes(columnDefinition(field, model, dialect))
  })
  const hidden = hiddenColumns(model, columns).filter(({ name }) => !takeovers.some(({ from }) => from === name))
  const released = hidden.filter(({ foreignKey }) => foreignKey)
  const filling = hidden.filter(({ hasDefault }) => hasDefault)
  const changes = [
    ...takeovers.map(({ field, from }) => `take ${field.name} from ${from}`),
    ...conversions.map(
      ({ field, from }) => `convert ${field.name} from ${from} to ${columnType(field)} (${table.rows} records)`,
    ),
    ...references
      .filter(({ field }) => !conversions.some((conversion) => conversion.field === field))
      .map(({ field }) => `change what ${field.name} refers to`),
    ...fills.map(({ name }) => `fill in the default of ${name} (${table.rows} records)`),
    ...templates.map(({ name }) => `compute ${name} anew`),
    ...wasComputed.map(({ field }) => `store ${field.name}, which was computed`),
    ...released.map(({ name }) => `let go of the hidden reference ${name}`),
    ...filling.map(({ name }) => `leave the hidden column ${name} alone`),
  ]
  if (changes.length === 0) return undefined
  const rebuild: Rebuild = {
    sources,
    references: sources.filter(({ field, column }) => {
      const source = columns.find(({ name }) => name === column)
      return field.reference && source && !isSameKey(field, source)
    }),
    discarded: [
      ...templates.flatMap((field) => {
        const column = findColumn(field, columns) as TableColumn
        return column.generated ? [] : [{ column: column.name }]
      }),
      ...takeovers.flatMap(({ field, from }) => {
        const column = findColumn(field, columns) as TableColumn
        return column.generated ? [] : [{ column: column.name, for: from }]
      }),
    ],
    hidden,
  }
  return { what: `${changes.join(', ')}: the table is made anew, after a backup`, rebuild }
}

/** What was computed is stored as it was, if it is of the same type; nothing of it would be lost otherwise either. */
function findSource(field: Field, columns: TableColumn[], takeovers: Takeover[]): Source {
  const from = takeovers.find((takeover) => takeover.field === field)?.from
  const column = from === undefined ? findColumn(field, columns) : columns.find(({ name }) => name === from)
  if (!column || (column.generated && column.type !== columnType(field))) return { field }
  return { field, column: column.name, ...(column.type !== columnType(field) && { from: column.type }) }
}

function isSameKey(field: Field, { foreignKey }: TableColumn): boolean {
  const wanted = field.reference && foreignKeyFor(field.reference)
  return wanted?.table === foreignKey?.table && wanted?.onDelete === foreignKey?.onDelete
}
