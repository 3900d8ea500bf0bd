import { type RawBuilder, sql } from 'kysely'
import type { OperatorName } from '../requests/operators.ts'
import { all, type Condition, is, not } from '../tables/condition.ts'

/** Operators that compare by the order of values. */
export const BY_ORDER: readonly OperatorName[] = ['gt', 'gte', 'lt', 'lte', 'between']

export type SqlOperator = Exclude<OperatorName, 'like'>

/** The SQL of each operator. */
export const OPERATOR_SQL: Record<SqlOperator, (key: RawBuilder<unknown>, values: unknown[]) => Condition> = {
  eq: (key, [value]) => is`${key} = ${value}`,
  gt: (key, [value]) => is`${key} > ${value}`,
  gte: (key, [value]) => is`${key} >= ${value}`,
  lt: (key, [value]) => is`${key} < ${value}`,
  lte: (key, [value]) => is`${key} <= ${value}`,
  between: (key, [first, second]) => is`${key} BETWEEN ${first} AND ${second}`,
  in: (key, values) => is`${key} IN (${sql.join(values)})`,
  isSet: (key) => is`${key} IS NOT NULL`,
}

type AtLeast = (number: number) => Condition

/** Conditions on a number of records, built from "there are at least n", which needs no count of all. */
export const COUNT_CONDITIONS: Partial<Record<SqlOperator, (atLeast: AtLeast, values: number[]) => Condition>> = {
  eq: (atLeast, [value = 0]) => all([atLeast(value), not(atLeast(value + 1))]),
  gt: (atLeast, [value = 0]) => atLeast(value + 1),
  gte: (atLeast, [value = 0]) => atLeast(value),
  lt: (atLeast, [value = 0]) => not(atLeast(value)),
  lte: (atLeast, [value = 0]) => not(atLeast(value + 1)),
  between: (atLeast, [first = 0, second = 0]) => all([atLeast(first), not(atLeast(second + 1))]),
}

/** Whether a comparison is true of the number 0. */
export const HOLDS_FOR_ZERO: Record<SqlOperator, (values: number[]) => boolean> = {
  eq: ([value = 0]) => value === 0,
  gt: ([value = 0]) => value < 0,
  gte: ([value = 0]) => value <= 0,
  lt: ([value = 0]) => value > 0,
  lte: ([value = 0]) => value >= 0,
  between: ([first = 0, second = 0]) => first <= 0 && second >= 0,
  in: (values) => values.includes(0),
  isSet: () => true,
}
