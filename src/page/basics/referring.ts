import { type Field, type Model, referredName } from '../logic/model.ts'
import { modelNamed, modelNames } from './models.ts'

/** A reference field, and the model it belongs to. */
export interface ReferenceField {
  model: Model
  field: Field
}

/** All fields that refer to a model, among the models the user may read or create. */
export async function findReferenceFields(name: string): Promise<ReferenceField[]> {
  const models = await Promise.all((await modelNames()).map((other) => modelNamed(other)))
  return models.flatMap((model): ReferenceField[] =>
    model.fields.filter((field) => referredName(field) === name).map((field) => ({ model, field })),
  )
}
