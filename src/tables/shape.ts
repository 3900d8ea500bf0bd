import { type Model, tableOf } from '../model/model.ts'
import { anotherShape, type Storage } from '../storage/storage.ts'
import { shapeOf } from './ddl.ts'

/** Nothing is read through an old model either: another process may have changed what a column means. */
export function requireShape(storage: Storage, model: Model): void {
  if (storage.shape(tableOf(model)) !== shapeOf(model)) throw anotherShape()
}

/** The same for a search, which looks in its own moment. */
export const shapesOf = (models: Model[]): Record<string, string> =>
  Object.fromEntries(models.map((model) => [tableOf(model), shapeOf(model)]))
