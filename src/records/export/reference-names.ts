import { type RawBuilder, sql } from 'kysely'
import type { FilterContext } from '../../filters/filter-sql.ts'
import type { Model } from '../../model/model.ts'
import { targetModel } from '../../requests/field-paths.ts'
import type { SqlValue } from '../../storage/storage.ts'
import { valueThrough } from '../find/order.ts'

/** Column with the name of the record that a field refers to. No field has such a name. */
export const nameColumn = (field: string) => `${field}__name`

/** A column with names, and the models whose records it looks at. */
interface NamedReference {
  name: string
  value: RawBuilder<SqlValue>
  models: Model[]
}

/** Selects the names of the records that those of a model refer to. What the user may not read has none. */
export function namedReferences(model: Model, columns: string[], filterContext: FilterContext): NamedReference[] {
  return model.fields.flatMap((field) => {
    if (!columns.includes(field.name) || !field.reference) return []
    const target = targetModel(field, filterContext.models)
    const { nameField } = target
    if (nameField === undefined) return []
    const value = valueThrough([field], () => sql.ref(nameField), model, filterContext)
    return [{ name: nameColumn(field.name), value, models: [target, ...filterContext.reachFor(target).models] }]
  })
}
