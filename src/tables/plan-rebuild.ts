import type { Field, Model } from '../model/model.ts'
import type { TableColumn, TableDialect, TableState } from '../storage/storage.ts'
import { columnType } from './columns.ts'
import { columnDefinition, foreignKeyFor } from './ddl.ts'
import { findColumn, hiddenColumns, type Takeover } from './plan-renames.ts'

/** How a table is rebuilt: the source of each column. */
export interface Rebuild {
  sources: Source[]
  /** references to check: every value must be the id of an existing record */
  references: Source[]
  /** stored columns that become computed, or are replaced by a takeover of the column `for`: they must be empty */
  discarded: { column: string; for?: string }[]
  /** columns without a field, kept with their data */
  hidden: TableColumn[]
  /** fields whose link tables are filled with the table */
  linked: Field[]
}

/** Where a stored field's values come from: a column, perhaps of another type, or the field's default. */
export interface Source {
  field: Field
  /** undefined for a new field, which gets its default */
  column?: string | undefined
  /** the column's type, if its values have to be converted */
  from?: string | undefined
}

/** Reasons for a rebuild that the columns do not show, and the dialect. */
export interface RebuildReasons {
  takeovers: Takeover[]
  /** new fields that have a value in more than `MAX_ROWS_TO_FILL` records */
  fills: Field[]
  /** fields whose order keys have to be made for as many records */
  sorted: Field[]
  /** fields whose link tables have to be filled */
  linked: Field[]
  /** whether there are more than `MAX_ROWS_TO_FILL` records */
  isLarge: boolean
  dialect: TableDialect
}

/**
 * Plans a rebuild, for example for a changed type, template or reference: SQLite cannot change a column in place, and
 * PostgreSQL would lock the table meanwhile.
 */
export function planRebuild(model: Model, table: TableState, columns: TableColumn[], reasons: RebuildReasons) {
  const { takeovers, fills, sorted, linked, isLarge, dialect } = reasons
  const stored = model.fields.filter((field) => !field.computed)
  const sources = stored.map((field) => findSource(field, columns, takeovers))
  const conversions = sources.filter(({ from }) => from !== undefined)
  const existing = stored.flatMap((field) => {
    const column = findColumn(field, columns)
    return column && !takeovers.some((takeover) => takeover.field === field) ? [{ field, column }] : []
  })
  const changedReferences = existing.filter(({ field, column }) => !hasSameForeignKey(field, column))
  const wasComputed = existing.filter(({ column }) => column.generated)
  const templates = model.fields.filter((field) => {
    const column = field.computed && findColumn(field, columns)
    return column && !column.generated?.includes(columnDefinition(field, model, dialect))
  })
  const hidden = hiddenColumns(model, columns).filter(({ name }) => !takeovers.some(({ from }) => from === name))
  const hiddenReferences = hidden.filter(({ foreignKey }) => foreignKey)
  const hiddenDefaults = hidden.filter(({ hasDefault }) => hasDefault)
  const changes = [
    ...takeovers.map(({ field, from }) => `take ${field.name} from ${from}`),
    ...conversions.map(
      ({ field, from }) => `convert ${field.name} from ${from} to ${columnType(field)} (${table.rows} records)`,
    ),
    ...changedReferences
      .filter(({ field }) => !conversions.some((conversion) => conversion.field === field))
      .map(({ field }) => `change what ${field.name} refers to`),
    ...fills.map(({ name, computed }) =>
      computed ? `compute ${name} (${table.rows} records)` : `fill in the default of ${name} (${table.rows} records)`,
    ),
    ...sorted.map(({ name }) => `sort ${name} by folded text (${table.rows} records)`),
    ...(isLarge ? linked : []).map(({ name }) => `link ${name}`),
    ...templates.map(({ name }) => `recompute ${name}`),
    ...wasComputed.map(({ field }) => `store ${field.name}, which was computed`),
    ...hiddenReferences.map(({ name }) => `let go of the hidden reference ${name}`),
    ...hiddenDefaults.map(({ name }) => `leave the hidden column ${name} alone`),
  ]
  if (changes.length === 0) return undefined
  const rebuild: Rebuild = {
    sources,
    references: sources.filter(({ field, column }) => {
      const source = columns.find(({ name }) => name === column)
      return field.reference && source && !hasSameForeignKey(field, source)
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
    linked,
  }
  return { what: [...changes, 'rebuild the table, after a backup'].join('; '), rebuild }
}

/**
 * A column that was computed is copied if its type is the same. Otherwise the field starts with its default; computed
 * values follow from other fields, so nothing is lost.
 */
function findSource(field: Field, columns: TableColumn[], takeovers: Takeover[]): Source {
  const from = takeovers.find((takeover) => takeover.field === field)?.from
  const column = from === undefined ? findColumn(field, columns) : columns.find(({ name }) => name === from)
  if (!column || (column.generated && column.type !== columnType(field))) return { field }
  return { field, column: column.name, ...(column.type !== columnType(field) && { from: column.type }) }
}

function hasSameForeignKey(field: Field, { foreignKey }: TableColumn): boolean {
  const wanted = field.reference && foreignKeyFor(field.reference)
  return wanted?.table === foreignKey?.table && wanted?.onDelete === foreignKey?.onDelete
}
