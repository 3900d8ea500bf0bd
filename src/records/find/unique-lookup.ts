import type { Model } from '../../model/model.ts'
import type { Comparison, Filter } from '../../requests/query.ts'

/** Whether a filter asks for one value of a field that no two records share: then an index finds it at once. */
export function pinsOne(filter: Filter | undefined, model: Model): boolean {
  const comparisons = filter && 'all' in filter ? filter.all : [filter]
  // What is looked at beside it has to be cheap as well.
  if (!comparisons.every(isCheap)) return false
  const isUnique = (name: string) => name === 'id' || model.unique.some(([only, ...more]) => only === name && !more[0])
  return comparisons.some(({ operator, field }) => operator === 'eq' && isUnique(field.name))
}

function isCheap(filter: Filter | undefined): filter is Comparison {
  return filter !== undefined && 'through' in filter && filter.through.length === 0 && filter.operator !== 'like'
}
