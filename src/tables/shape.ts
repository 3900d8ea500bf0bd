import { type Model, tableName } from '../model/model.ts'
import { type Storage, staleShape } from '../storage/storage.ts'
import { tableShape } from './ddl.ts'

/** Nothing is read through an old model either: another process may have changed what a column means. */
export function requireCurrentShape(storage: Storage, model: Model): void {
  if (storage.shape(tableName(model)) !== tableShape(model)) throw staleShape()
}

/** The same for a search, which looks in its own moment. */
export const tableShapes = (models: Model[]): Record<string, string> =>
  Object.fromEntries(models.map((model) => [tableName(model), tableShape(model)]))
