import type { Field, Model } from '../logic/model.ts'
import { request } from './api.ts'
import { modelNamed, modelNames, recordPath } from './models.ts'

/** A reference field, and the model it belongs to. */
export interface ReferenceField {
  model: Model
  field: Field
}

/** All fields that refer to a model, among the models the user may read or create. */
export async function findReferenceFields(name: string): Promise<ReferenceField[]> {
  const models = await Promise.all((await modelNames()).map((other) => modelNamed(other)))
  return models.flatMap((model): ReferenceField[] =>
    model.fields.filter(({ reference }) => reference === name).map((field) => ({ model, field })),
  )
}

/** Ids per request, to limit the length of its URL. */
const AT_ONCE = 500

/** Counts the records that refer to any of `ids` by a field. */
export async function countReferring(
  { model, field }: ReferenceField,
  ids: number[],
  signal?: AbortSignal,
): Promise<number> {
  let count = 0
  for (let from = 0; from < ids.length; from += AT_ONCE) {
    const some = ids.slice(from, from + AT_ONCE).join()
    const { total } = await request('GET', `${recordPath(model.model)}?${field.name}[in]=${some}&limit=0`, {
      ...(signal && { signal }),
    })
    count += total as number
  }
  return count
}
