import type { OperatorName } from '../requests/operators.ts'
import type { Comparison, Filter, RelatedFilter } from '../requests/query.ts'

/** Says in words which records a rule selects: "region is one of the user's regions". */
export function describeFilter(filter: Filter): string {
  if ('all' in filter) return joined(filter.all, ' and ')
  if ('any' in filter) return joined(filter.any, ' or ')
  if ('not' in filter) return describeNot(filter.not)
  return 'relation' in filter ? describeRelated(filter) : describeComparison(filter, IS)
}

function joined(filters: Filter[], word: string): string {
  const texts = filters.map((one) =>
    isGroup(one) && filters.length > 1 ? `(${describeFilter(one)})` : describeFilter(one),
  )
  return texts.join(word)
}

const isGroup = (filter: Filter) => 'all' in filter || 'any' in filter

function describeNot(filter: Filter): string {
  if ('through' in filter && IS_NOT[filter.operator]) return describeComparison(filter, IS_NOT)
  return `not (${describeFilter(filter)})`
}

/** Phrases in which `#` and `##` stand for the values. */
const IS: Record<OperatorName, string> = {
  eq: 'is #',
  gt: 'is more than #',
  gte: 'is at least #',
  lt: 'is less than #',
  lte: 'is at most #',
  like: 'contains #',
  in: 'is one of #',
  between: 'is from # to ##',
  isSet: 'is set',
}
const IS_NOT: Partial<Record<OperatorName, string>> = {
  eq: 'is not #',
  like: 'does not contain #',
  in: 'is none of #',
  between: 'is not from # to ##',
  isSet: 'is not set',
}

function describeComparison({ through, field, operator, values }: Comparison, phrases: typeof IS_NOT): string {
  return `${[...through, field].map(({ name }) => name).join('.')} ${phrase(operator, values, phrases)}`
}

function phrase(operator: OperatorName, values: unknown[], phrases: typeof IS_NOT): string {
  const [first, second] = values
  const one = operator === 'like' ? withoutWildcards(String(first)) : first
  const text = operator === 'in' ? values.map(describeValue).join(', ') : describeValue(one)
  return (phrases[operator] as string).replace('##', () => describeValue(second)).replace('#', () => text)
}

/** The text between the wildcards of a pattern that means "contains". */
const withoutWildcards = (pattern: string) => /^%([^%_\\]*)%$/.exec(pattern)?.[1] ?? pattern

function describeRelated({ relation, matching, count, ids }: RelatedFilter): string {
  const what = matching ? ` where ${describeFilter(matching)}` : ''
  if (ids) return `${relation.name} has ${ids.isAll ? 'all' : 'one'} of ${ids.values.map(describeValue).join(', ')}`
  if (count) return `the number of ${relation.name}${what} ${phrase(count.operator, count.values, IS)}`
  return `has ${relation.name}${what}`
}

function describeValue(value: unknown): string {
  if (value === '$user') return 'the user'
  if (typeof value === 'string' && value.startsWith('$user.')) return `the user's ${value.slice('$user.'.length)}`
  return JSON.stringify(value)
}
