import { type Field, type Model, tableOf } from '../model/model.ts'
import { columnType } from './columns.ts'
import { columnDefinition, createIndex, createTable, foreignKeyOf, type Index, indexesOf, quote } from './ddl.ts'
import type { Column, TableState } from './state.ts'

/** What has to happen to one model's table so that it fits the model. */
export interface TablePlan {
  model: Model
  steps: Step[]
  /** why the change cannot be made; then no step is carried out */
  refusals: string[]
  /** columns with data that no field shows any more */
  hidden: string[]
}

export type Step = { what: string } & (
  | { kind: 'create' | 'add' | 'index' | 'unindex'; sql: string }
  | { kind: 'unique'; sql: string; index: Index }
  | { kind: 'rename'; sql: string; from: string; to: string }
  | { kind: 'rebuild'; rebuild: Rebuild }
)

/** A table made anew: what each column of it comes from. */
export interface Rebuild {
  /** fields whose stored values become another type */
  conversions: { field: Field; from: string }[]
  /** references to check: every value must name a record */
  references: Field[]
  /** stored columns that become computed: they must be empty */
  discarded: string[]
  /** fields whose values are copied as they are */
  kept: string[]
  /** columns without a field, kept with their data */
  hidden: Column[]
}

/** Pure: a model and its table as it is → what to do. Columns without a field stay, hidden. */
export function planTable(model: Model, table: TableState | undefined): TablePlan {
  if (!table) {
    const create: Step = { kind: 'create', what: 'create the table', sql: createTable(model) }
    return { model, steps: [create, ...planIndexes(model, [])], refusals: [], hidden: [] }
  }
  const renames = planRenames(model, table)
  const columns = renamed(table.columns, renames)
  const additions = model.fields.filter((field) => !columnOf(field, columns))
  const rebuild = planRebuild(model, table, columns)
  return {
    model,
    steps: [
      ...renames.map(
        ({ from, to }): Step => ({
          kind: 'rename',
          what: `rename ${from} to ${to}`,
          from,
          to,
          sql: `ALTER TABLE ${quote(tableOf(model))} RENAME COLUMN ${quote(from)} TO ${quote(to)}`,
        }),
      ),
      // A rebuilt table has all new columns from the start.
      ...(rebuild ? [rebuild] : additions.map((field) => addColumn(field, model))),
      ...planIndexes(model, rebuild ? [] : table.indexes.map(({ name }) => name)),
    ],
    refusals: [...refuseAdditions(additions, model, table), ...refuseSpellings(model, columns)],
    hidden: hiddenColumns(model, columns).map(({ name }) => name),
  }
}

const columnOf = (field: Field, columns: Column[]) =>
  columns.find(({ name }) => name.toLowerCase() === field.name.toLowerCase())

/** A column is renamed once: when the field's new column is not there yet, and its earlier one is nobody else's. */
function planRenames(model: Model, table: TableState): { from: string; to: string }[] {
  return model.fields.flatMap((field) => {
    const from = field.renamedFrom
    const taken = model.fields.some(({ name }) => name === from)
    if (from === undefined || taken || columnOf(field, table.columns)) return []
    return table.columns.some(({ name }) => name === from) ? [{ from, to: field.name }] : []
  })
}

function renamed(columns: Column[], renames: { from: string; to: string }[]): Column[] {
  return columns.map((column) => ({
    ...column,
    name: renames.find(({ from }) => from === column.name)?.to ?? column.name,
  }))
}

function addColumn(field: Field, model: Model): Step {
  const sql = `ALTER TABLE ${quote(tableOf(model))} ADD COLUMN ${columnDefinition(field, model)}`
  return { kind: 'add', what: `add the column ${field.name}`, sql }
}

/** Another type, template or reference needs a new table: SQLite cannot change a column in place. */
function planRebuild(model: Model, table: TableState, columns: Column[]): Step | undefined {
  const existing = model.fields.flatMap((field) => {
    const column = columnOf(field, columns)
    return column ? [{ field, column }] : []
  })
  const isComputed = ({ field }: { field: Field }) => field.computed !== undefined
  const conversions = existing.filter((pair) => !isComputed(pair) && pair.column.type !== columnType(pair.field))
  const references = existing.filter(({ field, column }) => !isSameKey(field, column))
  const templates = existing.filter(
    ({ field, column }) =>
      (field.computed !== undefined) !== column.generated ||
      (column.generated && !table.sql.includes(columnDefinition(field, model))),
  )
  const hidden = hiddenColumns(model, columns)
  const released = hidden.filter(({ foreignKey }) => foreignKey)
  const changes = [
    ...conversions.map(
      ({ field, column }) =>
        `convert ${field.name} from ${column.type} to ${columnType(field)} (${table.rows} records)`,
    ),
    ...references
      .filter((pair) => !conversions.includes(pair))
      .map(({ field }) => `change what ${field.name} refers to`),
    ...templates.map(({ field }) =>
      field.computed ? `compute ${field.name} anew` : `store ${field.name}, which was computed`,
    ),
    ...released.map(({ name }) => `let go of the hidden reference ${name}`),
  ]
  if (changes.length === 0) return undefined
  const stored = existing.filter((pair) => !isComputed(pair))
  return {
    kind: 'rebuild',
    what: `${changes.join(', ')}: the table is made anew, after a backup`,
    rebuild: {
      conversions: conversions.map(({ field, column }) => ({ field, from: column.type })),
      references: references.filter(({ field }) => field.reference).map(({ field }) => field),
      discarded: existing.filter((pair) => isComputed(pair) && !pair.column.generated).map(({ column }) => column.name),
      kept: stored.filter((pair) => !conversions.includes(pair)).map(({ field }) => field.name),
      hidden: hidden.map((column) => ({ ...column, foreignKey: undefined })),
    },
  }
}

function isSameKey(field: Field, { foreignKey }: Column): boolean {
  const wanted = field.reference && foreignKeyOf(field.reference)
  return wanted?.table === foreignKey?.table && wanted?.onDelete === foreignKey?.onDelete
}

/** Generated columns hold no data: hidden ones are not worth a word. */
function hiddenColumns(model: Model, columns: Column[]): Column[] {
  const known = new Set(['id', 'version', ...model.fields.map(({ name }) => name)].map((name) => name.toLowerCase()))
  return columns.filter(({ name, generated }) => !generated && !known.has(name.toLowerCase()))
}

function refuseAdditions(additions: Field[], model: Model, { rows }: TableState): string[] {
  return additions
    .filter((field) => field.required && field.default === undefined && rows > 0)
    .map(
      ({ name }) =>
        `The new field "${name}" is required, but the ${rows} ${model.name} records that exist have no value for it. Give it a "default".`,
    )
}

function refuseSpellings(model: Model, columns: Column[]): string[] {
  return model.fields.flatMap((field) => {
    const column = columnOf(field, columns)
    if (!column || column.name === field.name) return []
    return [
      `The field "${field.name}" differs from its column "${column.name}" only in case. Keep the earlier spelling.`,
    ]
  })
}

/** Only indexes that carry our naming are ours to drop; one made by hand stays. */
function planIndexes(model: Model, existing: string[]): Step[] {
  const wanted = indexesOf(model)
  const stale = existing.filter(
    (name) => name.startsWith(`${tableOf(model)}__`) && !wanted.some((index) => index.name === name),
  )
  return [
    ...stale.map(
      (name): Step => ({ kind: 'unindex', what: `drop the index ${name}`, sql: `DROP INDEX ${quote(name)}` }),
    ),
    ...wanted
      .filter((index) => !existing.includes(index.name))
      .map((index): Step => {
        const sql = createIndex(index, model)
        const names = index.fields.join(', ')
        return index.unique
          ? { kind: 'unique', what: `make ${names} unique`, sql, index }
          : { kind: 'index', what: `index ${names}`, sql }
      }),
  ]
}
