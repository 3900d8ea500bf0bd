import { type RawBuilder, sql } from 'kysely'
import { forbidden, reachFor, type User } from '../../model/access.ts'
import { type Field, type Inverse, isText, linkTable, type Model, type Models, tableName } from '../../model/model.ts'
import type { OperatorName } from '../../requests/operators.ts'
import { isInverseStep, targetModel } from '../../requests/paths.ts'
import type { Comparison, Filter, Query, RelatedFilter, Step } from '../../requests/query.ts'
import type { Dialect, SqlValue } from '../../storage/storage.ts'
import { withReach } from '../../tables/access-filter.ts'
import { comparisonSql, encodeComparable, encodeOrder, orderSql } from '../../tables/columns.ts'
import { ALWAYS, all, any, type Condition, is, not } from '../../tables/condition.ts'
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
  if ('step' in filter) return relatedCondition(filter, model, asking)
  const referred = filter.through.map((reference) => targetModel(reference, asking.models))
  return filter.through.reduceRight<Condition>(
    (inner, reference, place) => {
      const target = referred[place] as Model
      return is`${comparisonKey(reference, asking.dialect)} IN (SELECT "id" FROM ${reachable(target, filter, inner, asking)})`
    },
    compare(filter, referred.at(-1) ?? model, asking.dialect),
  )
}

/** Records of which a step leads to a record that matches, or to such a number of them. */
function relatedCondition(filter: RelatedFilter, model: Model, asking: FilterContext): Condition {
  const { count, ids } = filter
  const { own, theirs, some } = followStep(filter, model, asking)
  // The records that one of all leads to are counted: no id is among them twice.
  if (ids?.isAll) return is`${own} IN (${some} GROUP BY ${theirs} HAVING count(*) = ${ids.values.length})`
  if (!count) return is`${own} IN (${some})`
  const isSo = SAID[count.operator as SaidOperator](sql`count(*)`, count.values)
  // Records without any are in no group.
  return HOLDS_FOR_NONE[count.operator as SaidOperator](count.values as number[])
    ? not(is`${own} IN (${some} GROUP BY ${theirs} HAVING NOT ${isSo})`)
    : is`${own} IN (${some} GROUP BY ${theirs} HAVING ${isSo})`
}

/** How records lead to others: the key of their own, the keys that a query selects, and that query. */
interface Followed {
  own: RawBuilder<unknown>
  theirs: RawBuilder<unknown>
  some: RawBuilder<unknown>
}

/** The keys of those records from which a step leads to one that matches. */
function followStep(filter: RelatedFilter, model: Model, asking: FilterContext): Followed {
  const { step, matching, ids } = filter
  const target = targetModel(step, asking.models)
  const inner = matching ? toCondition(matching, target, asking) : ALWAYS
  const isOne = ids ? is`"id" IN (${sql.join(ids.values)})` : ALWAYS
  // What a link table has is joined by it: the records of both sides are looked up in it.
  // If all records of the other side match, they need not be looked at: a foreign key says that they are there.
  const isEvery = !matching && !ids && reachFor(target, 'read', asking.user).scope === 'all'
  const throughLinks = (links: string, from: string, to: string, condition: RawBuilder<unknown>): Followed => ({
    own: sql`"id"`,
    theirs: sql.ref(from),
    some: sql`SELECT ${sql.ref(from)} FROM ${sql.table(links)}
      WHERE ${isEvery ? ALWAYS : is`${sql.ref(to)} IN (${condition})`}
        AND ${asking.dialect.alive(ROWS_BETWEEN, sql`"record"`)}`,
  })
  const matched = () => sql`SELECT "id" FROM ${reachable(target, filter, all([isOne, inner]), asking)}`
  // The ids are the field's own value, whoever may read the records.
  if (!isInverseStep(step) && step.links)
    return throughLinks(linkTable(model, step), 'record', 'target', ids ? sql.join(ids.values) : matched())
  // A reference leads to one record at most, whose number is compared as that of its inverse is.
  if (!isInverseStep(step)) return { own: comparisonKey(step, asking.dialect), theirs: sql`"id"`, some: matched() }
  const field = referringField(step, target)
  if (field.links) return throughLinks(linkTable(target, field), 'target', 'record', matched())
  const theirs = comparisonKey(field, asking.dialect)
  const isSet = is`${theirs} IS NOT NULL`
  const some = sql`SELECT ${theirs} FROM ${reachable(target, filter, all([isSet, isOne, inner]), asking)}`
  return { own: sql`"id"`, theirs, some }
}

/** The field of which a step is the inverse. */
export const referringField = ({ field }: Inverse, target: Model) =>
  target.fields.find(({ name }) => name === field) as Field

/** The rest of a SELECT of those records that match and that the user may read. */
function reachable(target: Model, filter: Filter, inner: Condition, { user, dialect }: FilterContext) {
  const reach = reachFor(target, 'read', user)
  if (reach.scope === 'none') throw forbidden(target, 'read')
  const isReachable = withReach(reach, reach.username, aliveCondition({ filter }, dialect), inner)
  return sql`${sql.table(tableName(target))} WHERE ${isReachable}`
}

/** The models that the references of a filter and a sort lead to. */
export function referencedModels(
  { filter, sort }: { filter?: Filter | undefined; sort: { through: Field[] }[] },
  models: Models,
): Model[] {
  const steps = partsOf(filter).flatMap((part): Step[] => ('step' in part ? [part.step] : part.through))
  return [...steps, ...sort.flatMap(({ through }) => through)].map((step) => targetModel(step, models))
}

/** All comparisons of a filter and what it asks of related records, however deep. */
function partsOf(filter: Filter | undefined): (Comparison | RelatedFilter)[] {
  if (!filter) return []
  if ('all' in filter) return filter.all.flatMap(partsOf)
  if ('any' in filter) return filter.any.flatMap(partsOf)
  if ('not' in filter) return partsOf(filter.not)
  return 'step' in filter ? [filter, ...partsOf(filter.matching)] : [filter]
}

/** Rows between two checks of `dialect.alive`, and how much each expensive comparison lowers that number. */
const ROWS_BETWEEN = 256
const COST_OF_LIKE = 8

/** The condition that ends a search on a timeout or an abort. The more a row costs, the more often it checks. */
export function aliveCondition(
  { filter, search }: Pick<Query, 'filter' | 'search'>,
  dialect: Dialect,
  key?: RawBuilder<unknown>,
): Condition {
  const cost = estimateCost(filter) + (search?.words.length ?? 0)
  const rows = Math.floor(ROWS_BETWEEN / (1 + COST_OF_LIKE * cost))
  return is`${dialect.alive(rows, key)}`
}

/** The number of expensive comparisons; a cheap one counts as 0.05. */
function estimateCost(filter: Filter | undefined): number {
  const isDear = (part: Comparison | RelatedFilter) =>
    !('step' in part) &&
    (part.operator === 'like' ||
      part.field.format === 'decimal' ||
      (isText(part.field) && BY_ORDER.includes(part.operator)))
  return partsOf(filter).reduce((sum, part) => sum + (isDear(part) ? 1 : 0.05), 0)
}

/** Operators that compare by the order of values. */
const BY_ORDER: readonly OperatorName[] = ['gt', 'gte', 'lt', 'lte', 'between']

type SaidOperator = Exclude<OperatorName, 'like'>

/** The SQL of each operator. */
const SAID: Record<SaidOperator, (key: RawBuilder<unknown>, values: unknown[]) => Condition> = {
  eq: (key, [value]) => is`${key} = ${value}`,
  gt: (key, [value]) => is`${key} > ${value}`,
  gte: (key, [value]) => is`${key} >= ${value}`,
  lt: (key, [value]) => is`${key} < ${value}`,
  lte: (key, [value]) => is`${key} <= ${value}`,
  between: (key, [first, second]) => is`${key} BETWEEN ${first} AND ${second}`,
  in: (key, values) => is`${key} IN (${sql.join(values)})`,
  isSet: (key) => is`${key} IS NOT NULL`,
}

/** Whether a comparison is true of the number 0. */
const HOLDS_FOR_NONE: Record<SaidOperator, (values: number[]) => boolean> = {
  eq: ([value = 0]) => value === 0,
  gt: ([value = 0]) => value < 0,
  gte: ([value = 0]) => value <= 0,
  lt: ([value = 0]) => value > 0,
  lte: ([value = 0]) => value >= 0,
  between: ([first = 0, second = 0]) => first <= 0 && second >= 0,
  in: (values) => values.includes(0),
  isSet: () => true,
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
