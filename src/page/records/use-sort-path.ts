import { useLoaded } from '../basics/loading.ts'
import { modelNamed } from '../basics/models.ts'
import { sortPath } from '../logic/filters.ts'
import type { Field } from '../logic/model.ts'

/** What a column is sorted by: a reference by the name that is shown for it, or by its id if its model is out of reach. */
export function useSortPath(field: Field): string {
  const { value: target } = useLoaded(
    async () => (field.reference === undefined ? undefined : modelNamed(field.reference).catch(() => undefined)),
    [field.reference],
  )
  return sortPath(field, target)
}
