import { type RawBuilder, sql } from 'kysely'
import { forbidden, reachFor, type User } from '../../model/access.ts'
import { type Field, type Model, type Models, type Reference, tableName } from '../../model/model.ts'
import type { OperatorName } from '../../requests/operators.ts'
import type { Comparison, Filter } from '../../requests/query.ts'
import type { Dialect, SqlValue } from '../../storage/storage.ts'
import { withReach } from '../../tables/access-filter.ts'
import { comparable, encodeComparable } from '../../tables/columns.ts'
import { all, any, type Condition, is, not } from '../../tables/condition.ts'

/** What a field is compared and sorted by. Identifiers come from the model; values are always bound. */
export const comparisonKey = (field: Field, dialect: Dialect) =>
  sql<SqlValue>`${sql.raw(comparable(field, dialect.tables))}`

/** What a filter needs to know beside itself. */
export interface Asking {
  models: Models
  user: User
  dialect: Dialect
}

/** A filter as somebody may ask it: references are followed only to records that they may read. */
export function toCondition(filter: Filter, asking: Asking): Condition {
  const each = (filters: Filter[]) => filters.map((inner) => toCondition(inner, asking))
  if ('all' in filter) return all(each(filter.all))
  if ('any' in filter) return any(each(filter.any))
  if ('not' in filter) return not(toCondition(filter.not, asking))
  return filter.through.reduceRight<Condition>(
    (inner, reference) => {
      const model = asking.models.get((reference.reference as Reference).model) as Model
      const reach = reachFor(model, 'read', asking.user)
      if (reach.scope === 'none') throw forbidden(model, 'read')
      const alive = aliveIn(filter, asking.dialect)
      const referred = withReach(reach, reach.username, alive, inner)
      return is`${comparisonKey(reference, asking.dialect)} IN (SELECT "id" FROM ${sql.table(tableName(model))} WHERE ${referred})`
    },
    compare(filter, asking.dialect),
  )
}

/** The models that a filter's references lead to. */
export function modelsIn(filter: Filter | undefined, models: Models): Model[] {
  return comparisonsIn(filter).flatMap(({ through }) =>
    through.map(({ reference }) => models.get((reference as Reference).model) as Model),
  )
}

/** All comparisons of a filter, however deep. */
function comparisonsIn(filter: Filter | undefined): Comparison[] {
  if (!filter) return []
  if ('all' in filter) return filter.all.flatMap(comparisonsIn)
  if ('any' in filter) return filter.any.flatMap(comparisonsIn)
  return 'not' in filter ? comparisonsIn(filter.not) : [filter]
}

/** How many rows a search goes through between two questions whether it should end: the more a row costs, the fewer. */
const ROWS_BETWEEN = 256
const COST_OF_LIKE = 8

/** The condition that ends a search. */
export function aliveIn(filter: Filter | undefined, dialect: Dialect): Condition {
  const rows = Math.floor(ROWS_BETWEEN / (1 + COST_OF_LIKE * estimateCost(filter)))
  return is`${dialect.alive(rows)}`
}

/** How many comparisons there are that cost more than a look. */
function estimateCost(filter: Filter | undefined): number {
  const isDear = ({ operator, field }: Comparison) => operator === 'like' || field.format === 'decimal'
  return comparisonsIn(filter).reduce((sum, comparison) => sum + (isDear(comparison) ? 1 : 0.05), 0)
}

/** How each operator is said in SQL. */
const SAID: Record<Exclude<OperatorName, 'like'>, (key: RawBuilder<unknown>, values: SqlValue[]) => Condition> = {
  eq: (key, [value]) => is`${key} = ${value}`,
  gt: (key, [value]) => is`${key} > ${value}`,
  gte: (key, [value]) => is`${key} >= ${value}`,
  lt: (key, [value]) => is`${key} < ${value}`,
  lte: (key, [value]) => is`${key} <= ${value}`,
  between: (key, [first, second]) => is`${key} BETWEEN ${first} AND ${second}`,
  in: (key, values) => is`${key} IN (${sql.join(values)})`,
  isSet: (key) => is`${key} IS NOT NULL`,
}

function compare({ field, operator, values }: Comparison, dialect: Dialect): Condition {
  // Of the text as it is seen, also where it is sorted by something else.
  if (operator === 'like') return is`${dialect.like(sql.ref(field.name), values[0] as string)}`
  return SAID[operator](
    comparisonKey(field, dialect),
    values.map((value) => encodeComparable(field, value)),
  )
}
