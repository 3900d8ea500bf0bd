import { hash } from 'node:crypto'
import { type Model, tableName } from '../model/model.ts'
import { type Dialect, type Statement, type Storage, staleFault, type TableDialect } from '../storage/storage.ts'
import { tableShape } from './ddl.ts'
import { fieldsWithKey, orderColumn } from './order-columns.ts'

/** Refuses a read through an outdated model: another process may have changed the meaning of a column. */
export function requireCurrentShape(storage: Storage, model: Model): void {
  if (storage.shape(tableName(model)) !== tableShape(model)) throw staleFault()
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

/** Expected shapes of tables and of their order keys: for what sorts records or writes them. */
export const shapesWithOrderKeys = (models: Model[], dialect: TableDialect): Record<string, string> =>
  Object.fromEntries(models.flatMap((model) => modelShapes(model, dialect)))

/**
 * The shapes of a model, as `dossier_tables` has them. There, `dossier_keys__` begins the name of the row for order
 * keys; it has nothing to do with the table `dossier_keys`, which holds idempotency keys.
 */
export const modelShapes = (model: Model, dialect: TableDialect): [name: string, shape: string][] => [
  [tableName(model), tableShape(model)],
  ...(dialect.keepsOrderKeys
    ? [[`dossier_keys__${tableName(model)}`, orderKeyShape(model, dialect)] as [string, string]]
    : []),
]

/** Hash of the columns with order keys, and of what computed texts are made from. */
function orderKeyShape(model: Model, dialect: TableDialect): string {
  const cached = cachedOrderKeyShapes.get(model)
  if (cached !== undefined) return cached
  const keys = fieldsWithKey(model, dialect).map(({ name, computed }) => [orderColumn(name), computed])
  const shape = hash('sha256', JSON.stringify(keys)).slice(0, 16)
  cachedOrderKeyShapes.set(model, shape)
  return shape
}

const cachedOrderKeyShapes = new WeakMap<Model, string>()
