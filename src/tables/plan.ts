import { type Field, type Model, tableOf } from '../model/model.ts'
import { columnType } from './columns.ts'
import { columnDefinition, createIndex, createTable, indexesOf, quote } from './ddl.ts'
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
}

/** Pure: a model and its table as it is → what to do. Columns without a field stay as they are, hidden. */
export function planTable(model: Model, table: TableState | undefined): TablePlan {
  if (!table) {
    const create = { what: 'create the table', sql: createTable(model) }
    return { model: model.name, steps: [create, ...planIndexes(model, [])], refusals: [] }
  }
  const columns = model.fields.map((field) => planColumn(field, model, table))
  return {
    model: model.name,
    steps: [...columns.flatMap(({ step }) => step ?? []), ...planIndexes(model, table.indexes)],
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
