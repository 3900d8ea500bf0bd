import { type Model, tableName } from '../model/model.ts'
import { type Dialect, type Statement, type Storage, staleShape } from '../storage/storage.ts'
import { tableShape } from './ddl.ts'

/** Refuses a read through an outdated model: another process may have changed the meaning of a column. */
export function requireCurrentShape(storage: Storage, model: Model): void {
  if (storage.shape(tableName(model)) !== tableShape(model)) throw staleShape()
}

/** A bounded read of a model's table, which fails as `stale` if the table has another shape by then. */
export const recordRead = (dialect: Dialect, model: Model, { sql, parameters }: Statement): Statement => ({
  sql: dialect.ifShape(sql, tableName(model), tableShape(model)),
  parameters,
  readsRecords: true,
})

/** Expected shapes by table, for searches and units of work, which compare them in their own transaction. */
export const tableShapes = (models: Model[]): Record<string, string> =>
  Object.fromEntries(models.map((model) => [tableName(model), tableShape(model)]))
