import { type Field, type Model, tableOf } from '../model/model.ts'
import { columnType } from './columns.ts'
import { columnDefinition, createIndex, createTable, indexesOf, quote, triggersOf } from './ddl.ts'
import type { TableState } from './state.ts'

/** What has to happen to one model's table so that it fits the model. */
export interface TablePlan {
  model: string
  steps: Step[]
  /** why the change cannot be made; then no step is carried out */
  refusals: string[]
}

export interface Step {
  /** in an operator's words */
  what: string
  sql: string
  /** to be done when all tables are there: it concerns another model's table */
  late?: boolean
}

/** Pure: a model and its table as it is → what to do. Columns without a field stay as they are, hidden. */
export function planTable(model: Model, table: TableState | undefined): TablePlan {
  if (!table) {
    const create = { what: 'create the table', sql: createTable(model) }
    return { model: model.name, steps: [create, ...planIndexes(model, []), ...planTriggers(model, [])], refusals: [] }
  }
  const columns = model.fields.map((field) => planColumn(field, model, table))
  return {
    model: model.name,
    steps: [
      ...columns.flatMap(({ step }) => step ?? []),
      ...planIndexes(model, table.indexes),
      ...planTriggers(model, table.triggers),
    ],
    refusals: columns.flatMap(({ refusal }) => refusal ?? []),
  }
}

function planColumn(field: Field, model: Model, table: TableState): { step?: Step; refusal?: string } {
  const column = table.columns.find(({ name }) => name.toLowerCase() === field.name.toLowerCase())
  const definition = columnDefinition(field, model)
  if (!column) {
    if (field.required && field.default === undefined && table.hasRows)
      return {
        refusal: `The new field "${field.name}" is required, but the ${model.name} records that exist have no value for it. Give it a "default".`,
      }
    const sql = `ALTER TABLE ${quote(tableOf(model))} ADD COLUMN ${definition}`
    return { step: { what: `add the column ${field.name}`, sql } }
  }
  if (column.name !== field.name)
    return {
      refusal: `The field "${field.name}" differs from its column "${column.name}" only in case. Keep the earlier spelling.`,
    }
  if (column.type !== columnType(field) || column.generated !== (field.computed !== undefined))
    return {
      refusal: `The field "${field.name}" was ${column.type} and would become ${columnType(field)}. Changing a field's type is not supported yet.`,
    }
  if ((field.reference || table.sql.includes(`"${field.name}" INTEGER REFERENCES`)) && !table.sql.includes(definition))
    return {
      refusal: `The field "${field.name}" refers to something else than its column. Changing a reference is not supported yet.`,
    }
  if (field.computed && !table.sql.includes(definition))
    return {
      refusal: `The computed field "${field.name}" has another template than its column. Changing a template is not supported yet.`,
    }
  return {}
}

/** Only indexes that carry our naming are ours to drop; one made by hand stays. */
function planIndexes(model: Model, existing: string[]): Step[] {
  const wanted = indexesOf(model)
  const ours = existing.filter((name) => name.startsWith(`${tableOf(model)}__`))
  return [
    ...ours
      .filter((name) => !wanted.some((index) => index.name === name))
      .map((name) => ({ what: `drop the index ${name}`, sql: `DROP INDEX ${quote(name)}` })),
    ...wanted
      .filter((index) => !existing.includes(index.name))
      .map((index) => ({
        what: `${index.unique ? 'make unique' : 'index'} ${index.fields.join(', ')}`,
        sql: createIndex(index, model),
      })),
  ]
}

/** A trigger is made anew whenever its text differs. */
function planTriggers(model: Model, existing: { name: string; sql: string }[]): Step[] {
  const wanted = triggersOf(model)
  const stale = existing.filter(
    ({ name, sql }) => !wanted.some((trigger) => trigger.name === name && trigger.sql === sql),
  )
  return [
    ...stale.map(({ name }) => ({ what: `no longer clear ${name}`, sql: `DROP TRIGGER ${quote(name)}`, late: true })),
    ...wanted
      .filter(({ name, sql }) => !existing.some((trigger) => trigger.name === name && trigger.sql === sql))
      .map(({ name, sql }) => ({ what: `clear by ${name}`, sql, late: true })),
  ]
}
