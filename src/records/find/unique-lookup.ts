import { isUniqueField, type Model } from '../../model/model.ts'
import type { Comparison, Filter } from '../../requests/query.ts'

/** Whether a filter requires a value of a unique field, so that one index lookup finds the only possible record. */
export function isUniqueLookup(filter: Filter | undefined, model: Model): boolean {
  const comparisons = filter && 'all' in filter ? filter.all : [filter]
  // The whole filter runs as a bounded read, so its other comparisons must be cheap too.
  if (!comparisons.every(isCheap)) return false
  return comparisons.some(({ operator, field }) => operator === 'eq' && isUniqueField(model, field.name))
}

function isCheap(filter: Filter | undefined): filter is Comparison {
  return filter !== undefined && 'through' in filter && filter.through.length === 0 && filter.operator !== 'like'
}
