import { type RawBuilder, sql } from 'kysely'
import { forbiddenFailure } from '../model/access.ts'
import {
  type Field,
  type Inverse,
  isText,
  isUniqueField,
  linkTable,
  type Model,
  type Models,
  tableName,
} from '../model/model.ts'
import { isInverseRelation, targetModel } from '../requests/field-paths.ts'
import type { Comparison, Filter, Query, RelatedFilter, Relation } from '../requests/query.ts'
import { ROWS_PER_ABORT_CHECK } from '../storage/dialect.ts'
import type { Dialect, SqlValue } from '../storage/storage.ts'
import { comparisonSql, encodeComparable, encodeOrder, orderSql } from '../tables/columns.ts'
import { ALWAYS, all, any, type Condition, is, not } from '../tables/condition.ts'
import { indexedTexts } from '../tables/order-columns.ts'
import { BY_ORDER, COUNT_CONDITIONS, HOLDS_FOR_ZERO, OPERATOR_SQL, type SqlOperator } from './operator-sql.ts'
import { type Reach, withReach } from './reach.ts'

/** SQL expression that a field is compared by exactly. Identifiers come from the model; values are always bound. */
export const comparisonKey = (field: Field, dialect: Dialect) =>
  sql<SqlValue>`${sql.raw(comparisonSql(field, dialect.tables))}`

/** SQL expression that a field is sorted by, and compared by `<` and `>`. */
export const sortingKey = (field: Field, model: Model, dialect: Dialect) =>
  sql<SqlValue>`${sql.raw(orderSql(field, model, dialect.tables))}`

/** The context that a filter is translated in. */
export interface FilterContext {
  models: Models
  dialect: Dialect
  /** Reach of the user whose filter this is, for records of another model. */
  reachFor(target: Model): Reach
  /**
   * Set if the statement looks up the related records of each of its rows, by a correlated EXISTS: then the name of its
   * table. Without it, the related records are found first, by `IN (SELECT …)`. That may read many records, so the
   * statement is a search. Only with a `reachFor` that returns `FULL_REACH`: such a lookup does not join the reach.
   */
  outer?: Outer | undefined
  /** whether the statement is a search, and has to end when it takes too long, although `outer` is set */
  isSearch?: boolean
  /** Whether a model has far fewer records than another: then those of the other are looked up for each of them. */
  isFewer?(model: Model, other: Model): boolean
  /** Where the records of a model are looked up, if not in its table. */
  tableOf?(model: Model): RawBuilder<unknown> | undefined
}

interface Outer {
  table: string
  /** the record is not in its table: its links are only in its own columns */
  isDetached: boolean
  depth: number
}

/** Translates a filter into a condition. Without `outer`, references lead only to records within `reachFor`. */
export function toCondition(filter: Filter, model: Model, context: FilterContext): Condition {
  const each = (filters: Filter[]) => filters.map((inner) => toCondition(inner, model, context))
  if ('all' in filter) return all(each(filter.all))
  if ('any' in filter) return any(each(filter.any))
  if ('not' in filter) return not(toCondition(filter.not, model, context))
  if ('relation' in filter) return relatedCondition(filter, model, context)
  const [reference, ...through] = filter.through
  if (!reference) return compare(filter, model, context.dialect)
  const target = targetModel(reference, context.models)
  const inner = toCondition({ ...filter, through }, target, nestedContext(context))
  return isAmong(reference.name, { theirs: ID_COLUMN, fromWhere: reachable(target, filter, inner, context) }, context)
}

const ID_COLUMN = sql`"id"`

/** The context of a condition on related records, in a statement that looks them up. */
const nestedContext = (context: FilterContext): FilterContext =>
  context.outer
    ? {
        ...context,
        outer: { table: alias(context.outer), isDetached: false, depth: context.outer.depth + 1 },
      }
    : context

/** Name of a table of related records. No model's table has such a name. */
const alias = ({ depth }: Outer) => `related__${depth}`

/** A SELECT of the values of a column: `fromWhere` is its text from FROM to the end of its WHERE. */
interface Selected {
  theirs: RawBuilder<unknown>
  fromWhere: RawBuilder<unknown>
}

/** Condition that the column is among the values of a subquery. `rest` follows its WHERE. */
function isAmong(column: string, { theirs, fromWhere }: Selected, { outer }: FilterContext, rest = sql``): Condition {
  if (!outer) return is`${sql.ref(column)} IN (SELECT ${theirs} FROM ${fromWhere} ${rest})`
  return is`EXISTS (SELECT 1 FROM ${fromWhere} AND ${theirs} = ${sql.ref(`${outer.table}.${column}`)} ${rest})`
}

/** Records of which a relation leads to a record that matches, or to such a number of them. */
function relatedCondition(filter: RelatedFilter, model: Model, context: FilterContext): Condition {
  const { count, ids } = filter
  const bounds = COUNT_CONDITIONS[(count?.operator ?? 'gte') as SqlOperator]
  const lookup = ids ? undefined : context.outer ? context : lookupContext(filter, model, context)
  if (bounds && lookup) {
    const atLeast = (number: number) => hasAtLeast(number, filter, model, lookup)
    return bounds(atLeast, (count?.values as number[] | undefined) ?? [1])
  }
  const { column, related } = followRelation(filter, model, context)
  const among = (rest?: RawBuilder<unknown>) => isAmong(column, related, context, rest)
  // A field holds no id twice, so a record has all ids if as many rows match as ids were asked for.
  if (ids?.isAll) return among(sql`GROUP BY ${related.theirs} HAVING count(*) = ${ids.values.length}`)
  if (!count) return among()
  const isCountRight = OPERATOR_SQL[count.operator as SqlOperator](sql`count(*)`, count.values)
  // Records without related ones form no group. So a condition that holds for 0 is turned around: the record is not
  // among those whose number fails it.
  return HOLDS_FOR_ZERO[count.operator as SqlOperator](count.values as number[])
    ? not(among(sql`GROUP BY ${related.theirs} HAVING NOT ${isCountRight}`))
    : among(sql`GROUP BY ${related.theirs} HAVING ${isCountRight}`)
}

/**
 * The context in which a search looks up the related records of each record in their index. Undefined if it is better
 * to find all related records first: if their own values matter, or if they are not many more.
 */
function lookupContext(
  { relation, matching }: RelatedFilter,
  model: Model,
  context: FilterContext,
): FilterContext | undefined {
  const target = targetModel(relation, context.models)
  if (matching || !isInverseRelation(relation) || referringField(relation, target).links) return undefined
  if (context.reachFor(target).scope !== 'all' || !context.isFewer?.(model, target)) return undefined
  return { ...context, outer: { table: tableName(model), isDetached: false, depth: 0 }, isSearch: true }
}

/** Up to so many related records of a record are looked up without a check for an abort in between. */
const MAX_UNCHECKED_LOOKUPS = 1000

/** Records that lead to at least so many others. No more than these are looked up. */
function hasAtLeast(number: number, filter: RelatedFilter, model: Model, context: FilterContext): Condition {
  if (number <= 0) return ALWAYS
  const isBounded = !filter.matching && number <= MAX_UNCHECKED_LOOKUPS
  const { column, related } = followRelation(filter, model, isBounded ? { ...context, isSearch: false } : context)
  return isAmong(column, related, context, number === 1 ? undefined : sql`LIMIT 1 OFFSET ${number - 1}`)
}

/** How records lead to others: by a column whose value is among those that a query of the related records selects. */
interface Followed {
  column: string
  related: Selected
}

function followRelation(filter: RelatedFilter, model: Model, context: FilterContext): Followed {
  const { relation, matching } = filter
  const target = targetModel(relation, context.models)
  const field = isInverseRelation(relation) ? referringField(relation, target) : relation
  if (field.links) return followLinks(filter, model, target, context)
  const inner = matching ? toCondition(matching, target, nestedContext(context)) : ALWAYS
  const found = (condition: Condition) => reachable(target, filter, all([hasOneOfIds(filter), condition]), context)
  // A reference leads to one record at most, whose number is compared as that of its inverse is.
  if (!isInverseRelation(relation))
    return { column: relation.name, related: { theirs: ID_COLUMN, fromWhere: found(inner) } }
  const theirs = comparisonKey(field, context.dialect)
  return { column: 'id', related: { theirs, fromWhere: found(all([is`${theirs} IS NOT NULL`, inner])) } }
}

/** Follows a field with several references, or its inverse: the rows of a link table are between both. */
function followLinks(filter: RelatedFilter, model: Model, target: Model, context: FilterContext): Followed {
  const { relation, matching, ids } = filter
  const { outer, dialect } = context
  const below = nestedContext(context)
  const inner = matching ? toCondition(matching, target, nestedContext(below)) : ALWAYS
  const [links, own, other] = isInverseRelation(relation)
    ? [linkRows(target, referringField(relation, target)), 'target', 'record']
    : [linksOf(model, relation, context), 'record', 'target']
  const isTarget = () => {
    // The ids are the field's own value, whoever may read the records.
    if (ids && !isInverseRelation(relation)) return is`"target" IN (${sql.join(ids.values)})`
    const fromWhere = reachable(target, filter, all([hasOneOfIds(filter), inner]), below)
    return isAmong(other, { theirs: ID_COLUMN, fromWhere }, below)
  }
  // If all records of the other side match, they need not be looked at: a foreign key says that they are there.
  const isEvery = !matching && !ids && context.reachFor(target).scope === 'all'
  const name = outer ? sql`${links} AS ${sql.ref(alias(outer))}` : links
  const abortCheck =
    !outer || context.isSearch ? is`${dialect.abortCheck(ROWS_PER_ABORT_CHECK, sql`"record"`)}` : ALWAYS
  const condition = isEvery ? ALWAYS : isTarget()
  return {
    column: 'id',
    related: { theirs: sql.ref(own), fromWhere: sql`${name} WHERE ${condition} AND ${abortCheck} ` },
  }
}

const hasOneOfIds = ({ ids }: RelatedFilter): Condition => (ids ? is`"id" IN (${sql.join(ids.values)})` : ALWAYS)

const linkRows = (model: Model, field: Field) => sql.table(linkTable(model, field)) as RawBuilder<unknown>

/** The link table of a field, or its rows for a record that is not in its table. */
function linksOf(model: Model, field: Field, { outer, dialect }: FilterContext): RawBuilder<unknown> {
  if (!outer?.isDetached) return linkRows(model, field)
  const [id, ids] = ['id', field.name].map((name) => sql.ref(`${outer.table}.${name}`))
  return sql`(SELECT ${id} AS "record", CAST(value AS BIGINT) AS "target" FROM ${dialect.jsonEach(ids)} AS each__link)`
}

/** The field of which a relation is the inverse. */
export const referringField = ({ field }: Inverse, target: Model) =>
  target.fields.find(({ name }) => name === field) as Field

/** The rest of a SELECT of those records that match and that may be followed. */
function reachable(target: Model, filter: Filter, inner: Condition, context: FilterContext) {
  const { reachFor, outer, isSearch, dialect, tableOf } = context
  const reach = reachFor(target)
  if (reach.scope === 'none') throw forbiddenFailure(target, 'read')
  const table = tableOf?.(target) ?? sql.table(tableName(target))
  const abortCheck = abortCondition({ filter }, dialect)
  if (outer) return sql`${table} AS ${sql.ref(alias(outer))} WHERE ${isSearch ? all([abortCheck, inner]) : inner}`
  return sql`${table} WHERE ${withReach(reach, abortCheck, inner)}`
}

/** The models that the references of a filter and a sort lead to. */
export function referencedModels(
  { filter, sort }: { filter?: Filter | undefined; sort: { through: Field[] }[] },
  models: Models,
): Model[] {
  const relations = filterParts(filter).flatMap((part): Relation[] =>
    'relation' in part ? [part.relation] : part.through,
  )
  return [...relations, ...sort.flatMap(({ through }) => through)].map((relation) => targetModel(relation, models))
}

/** Comparisons and related filters in a filter, at any depth; with `ownOnly`, not those inside related filters. */
export function filterParts(filter: Filter | undefined, { ownOnly = false } = {}): (Comparison | RelatedFilter)[] {
  if (!filter) return []
  const inner = (some: Filter[]) => some.flatMap((one) => filterParts(one, { ownOnly }))
  if ('all' in filter) return inner(filter.all)
  if ('any' in filter) return inner(filter.any)
  if ('not' in filter) return inner([filter.not])
  return 'relation' in filter && !ownOnly ? [filter, ...filterParts(filter.matching)] : [filter]
}

/** Whether a filter asks for records that refer to another one. */
export const usesInverse = (filter: Filter) =>
  filterParts(filter).some((part) => 'relation' in part && isInverseRelation(part.relation))

/** How much each expensive comparison lowers the number of rows between two checks for an abort. */
const COST_OF_LIKE = 8

/** The condition that ends a search on a timeout or an abort. The more a row costs, the more often it checks. */
export function abortCondition(
  { filter, textSearch }: Pick<Query, 'filter' | 'textSearch'>,
  dialect: Dialect,
  key?: RawBuilder<unknown>,
): Condition {
  const cost = estimateCost(filter) + (textSearch?.words.length ?? 0)
  const rows = Math.floor(ROWS_PER_ABORT_CHECK / (1 + COST_OF_LIKE * cost))
  return is`${dialect.abortCheck(rows, key)}`
}

/** The number of expensive comparisons; a cheap one counts as 0.05. */
function estimateCost(filter: Filter | undefined): number {
  const isExpensive = (part: Comparison | RelatedFilter) =>
    !('relation' in part) &&
    (part.operator === 'like' ||
      part.field.format === 'decimal' ||
      (isText(part.field) && BY_ORDER.includes(part.operator)))
  return filterParts(filter).reduce((sum, part) => sum + (isExpensive(part) ? 1 : 0.05), 0)
}

function compare({ field, operator, values }: Comparison, model: Model, dialect: Dialect): Condition {
  // `like` matches the stored text itself, even if the field is sorted by another key, as decimals are.
  if (operator === 'like') return is`${dialect.like(sql.ref(field.name), values[0] as string)}`
  const byOrder = () =>
    OPERATOR_SQL[operator](
      sortingKey(field, model, dialect),
      values.map((value) => encodeOrder(field, value, dialect)),
    )
  if (BY_ORDER.includes(operator)) return byOrder()
  const exactly = OPERATOR_SQL[operator](
    comparisonKey(field, dialect),
    values.map((value) => encodeComparable(field, value)),
  )
  // Equal texts have equal keys, and the index has these.
  return indexedTexts(model).has(field.name) && !isUniqueField(model, field.name) ? all([byOrder(), exactly]) : exactly
}
