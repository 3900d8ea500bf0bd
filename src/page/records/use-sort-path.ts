import { useLoaded } from '../basics/loading.ts'
import { referredModel } from '../basics/models.ts'
import { columnSortPath, sortIn } from '../logic/filters.ts'
import { type Field, referredName } from '../logic/model.ts'

/**
 * The path that sorts a column: a reference is sorted by the name that is shown for it, or by its id if its model is
 * out of reach. A saved view may sort by the id as well: then it stays so.
 */
export function useSortPath(field: Field, query: URLSearchParams): string {
  const { value: target } = useLoaded(() => referredModel(field), [referredName(field)])
  const isById = sortIn(query).some((key) => key.field === field.name)
  return columnSortPath(field, isById || !target?.allowed.read ? undefined : target)
}
