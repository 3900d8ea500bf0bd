import { type RawBuilder, sql } from 'kysely'
import { forbidden, reachFor, type User } from '../../model/access.ts'
import { type Field, isText, type Model, type Models, type Reference, tableName } from '../../model/model.ts'
import type { OperatorName } from '../../requests/operators.ts'
import type { Comparison, Filter, Query } from '../../requests/query.ts'
import type { Dialect, SqlValue } from '../../storage/storage.ts'
import { withReach } from '../../tables/access-filter.ts'
import { comparisonSql, encodeComparable, encodeOrder, orderSql } from '../../tables/columns.ts'
import { all, any, type Condition, is, not } from '../../tables/condition.ts'
import { indexedTexts } from '../../tables/order-columns.ts'

/** SQL expression that a field is compared by exactly. Identifiers come from the model; values are always bound. */
export const comparisonKey = (field: Field, dialect: Dialect) =>
  sql<SqlValue>`${sql.raw(comparisonSql(field, dialect.tables))}`

/** SQL expression that a field is sorted by, and compared by `<` and `>`. */
export const sortingKey = (field: Field, model: Model, dialect: Dialect) =>
  sql<SqlValue>`${sql.raw(orderSql(field, model, dialect.tables))}`

/** The context that a filter is translated in. */
export interface FilterContext {
  models: Models
  user: User
  dialect: Dialect
}

/** Translates a filter into a condition. References lead only to records that the user may read. */
export function toCondition(filter: Filter, model: Model, asking: FilterContext): Condition {
  const each = (filters: Filter[]) => filters.map((inner) => toCondition(inner, model, asking))
  if ('all' in filter) return all(each(filter.all))
  if ('any' in filter) return any(each(filter.any))
  if ('not' in filter) return not(toCondition(filter.not, model, asking))
  const referred = filter.through.map((reference) => referredModel(reference, asking.models))
  return filter.through.reduceRight<Condition>(
    (inner, reference, place) => {
      const target = referred[place] as Model
      const reach = reachFor(target, 'read', asking.user)
      if (reach.scope === 'none') throw forbidden(target, 'read')
      const alive = aliveCondition({ filter }, asking.dialect)
      const isReferred = withReach(reach, reach.username, alive, inner)
      return is`${comparisonKey(reference, asking.dialect)} IN (SELECT "id" FROM ${sql.table(tableName(target))} WHERE ${isReferred})`
    },
    compare(filter, referred.at(-1) ?? model, asking.dialect),
  )
}

/** The models that the references of a filter and a sort lead to. */
export function referencedModels({ filter, sort }: Pick<Query, 'filter' | 'sort'>, models: Models): Model[] {
  return [...comparisonsIn(filter), ...sort].flatMap(({ through }) =>
    through.map((field) => referredModel(field, models)),
  )
}

export const referredModel = ({ reference }: Field, models: Models) =>
  models.get((reference as Reference).model) as Model

/** All comparisons of a filter, however deep. */
function comparisonsIn(filter: Filter | undefined): Comparison[] {
  if (!filter) return []
  if ('all' in filter) return filter.all.flatMap(comparisonsIn)
  if ('any' in filter) return filter.any.flatMap(comparisonsIn)
  return 'not' in filter ? comparisonsIn(filter.not) : [filter]
}

/** Rows between two checks of `dialect.alive`, and how much each expensive comparison lowers that number. */
const ROWS_BETWEEN = 256
const COST_OF_LIKE = 8

/** The condition that ends a search on a timeout or an abort. The more a row costs, the more often it checks. */
export function aliveCondition({ filter, search }: Pick<Query, 'filter' | 'search'>, dialect: Dialect): Condition {
  const cost = estimateCost(filter) + (search?.words.length ?? 0)
  const rows = Math.floor(ROWS_BETWEEN / (1 + COST_OF_LIKE * cost))
  return is`${dialect.alive(rows)}`
}

/** The number of expensive comparisons; a cheap one counts as 0.05. */
function estimateCost(filter: Filter | undefined): number {
  const isDear = ({ operator, field }: Comparison) =>
    operator === 'like' || field.format === 'decimal' || (isText(field) && BY_ORDER.includes(operator))
  return comparisonsIn(filter).reduce((sum, comparison) => sum + (isDear(comparison) ? 1 : 0.05), 0)
}

/** Operators that compare by the order of values. */
const BY_ORDER: readonly OperatorName[] = ['gt', 'gte', 'lt', 'lte', 'between']

/** The SQL of each operator. */
const SAID: Record<Exclude<OperatorName, 'like'>, (key: RawBuilder<unknown>, values: unknown[]) => Condition> = {
  eq: (key, [value]) => is`${key} = ${value}`,
  gt: (key, [value]) => is`${key} > ${value}`,
  gte: (key, [value]) => is`${key} >= ${value}`,
  lt: (key, [value]) => is`${key} < ${value}`,
  lte: (key, [value]) => is`${key} <= ${value}`,
  between: (key, [first, second]) => is`${key} BETWEEN ${first} AND ${second}`,
  in: (key, values) => is`${key} IN (${sql.join(values)})`,
  isSet: (key) => is`${key} IS NOT NULL`,
}

function compare({ field, operator, values }: Comparison, model: Model, dialect: Dialect): Condition {
  // `like` matches the stored text itself, even if the field is sorted by another key, as decimals are.
  if (operator === 'like') return is`${dialect.like(sql.ref(field.name), values[0] as string)}`
  const byOrder = () =>
    SAID[operator](
      sortingKey(field, model, dialect),
      values.map((value) => encodeOrder(field, value, dialect)),
    )
  if (BY_ORDER.includes(operator)) return byOrder()
  const exactly = SAID[operator](
    comparisonKey(field, dialect),
    values.map((value) => encodeComparable(field, value)),
  )
  // Equal texts have equal keys, and the index has these.
  return indexedTexts(model).has(field.name) && !isUnique(field, model) ? all([byOrder(), exactly]) : exactly
}

const isUnique = ({ name }: Field, { unique }: Model) => unique.some(([only, ...more]) => only === name && !more[0])
