import { orderKey } from '../../lib/order-key.ts'
import type { AggregateQuery } from '../../requests/aggregate.ts'
import type { Having } from '../../requests/having.ts'
import type { OperatorName } from '../../requests/operators.ts'
import { decimalKey } from '../../storage/decimal.ts'
import type { Row } from '../../storage/storage.ts'
import type { AnswerColumn } from './columns.ts'

type Kind = AnswerColumn['kind']

/** Compares two values of the same kind; what is not set comes first. */
export function compareValues(a: unknown, b: unknown, kind: Kind): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? -1 : 1
  if (kind === 'number' || typeof a === 'boolean') return Number(a) - Number(b)
  if (kind === 'decimal') return byCodePoint(decimalKey(String(a)), decimalKey(String(b)))
  if (kind === 'text') return byCodePoint(orderKey(String(a)), orderKey(String(b))) || byCodePoint(String(a), String(b))
  return byCodePoint(String(a), String(b))
}

const byCodePoint = (a: string, b: string) => (a === b ? 0 : Buffer.compare(Buffer.from(a), Buffer.from(b)))

/** Returns the comparison of an order: by what is asked for, then by all groups. */
export function rowComparer({ sort, groups }: AggregateQuery, columns: AnswerColumn[]) {
  const kinds = new Map(columns.map(({ name, kind }) => [name, kind]))
  const keys = [...sort, ...groups.map(({ name }) => ({ name, descending: false }))]
  const compare = (a: unknown[], b: unknown[]): number => {
    for (const [index, { name, descending }] of keys.entries()) {
      const which = compareValues(a[index], b[index], kinds.get(name) as Kind)
      if (which !== 0) return descending ? -which : which
    }
    return 0
  }
  return { compare, keysOf: (row: Row) => keys.map(({ name }) => row[name]) }
}

const COMPARISONS: Record<
  Exclude<OperatorName, 'like'>,
  (compare: (other: unknown) => number, values: unknown[]) => boolean
> = {
  eq: (compare, [value]) => compare(value) === 0,
  gt: (compare, [value]) => compare(value) > 0,
  gte: (compare, [value]) => compare(value) >= 0,
  lt: (compare, [value]) => compare(value) < 0,
  lte: (compare, [value]) => compare(value) <= 0,
  between: (compare, [first, second]) => compare(first) >= 0 && compare(second) <= 0,
  in: (compare, values) => values.some((value) => compare(value) === 0),
  isSet: () => true,
}

/** Whether a row meets a condition. As in a search, what is not set meets only those that say so. */
export function meets(having: Having, row: Row, kinds: ReadonlyMap<string, Kind>): boolean {
  if ('all' in having) return having.all.every((one) => meets(one, row, kinds))
  if ('any' in having) return having.any.length === 0 || having.any.some((one) => meets(one, row, kinds))
  if ('not' in having) return !meets(having.not, row, kinds)
  const value = row[having.name]
  if (value === null) return false
  const compare = (other: unknown) => compareValues(value, other, kinds.get(having.name) as Kind)
  return COMPARISONS[having.operator as keyof typeof COMPARISONS](compare, having.values)
}
