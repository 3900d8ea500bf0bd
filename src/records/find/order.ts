import { type RawBuilder, sql } from 'kysely'
import { type FilterContext, sortingKey } from '../../filters/filter-sql.ts'
import { withReach } from '../../filters/reach.ts'
import { type Field, type Model, tableName } from '../../model/model.ts'
import type { Position } from '../../requests/cursor.ts'
import { targetModel } from '../../requests/field-paths.ts'
import type { SortKey } from '../../requests/query.ts'
import type { Row, SqlValue } from '../../storage/storage.ts'
import { type Condition, is } from '../../tables/condition.ts'

/** One key of an order. */
export interface OrderTerm {
  key: RawBuilder<SqlValue>
  descending: boolean
}

/** The keys of a sort. A record that is referred to, and that the user may not read, counts as not set. */
export const sortOrder = (sort: SortKey[], model: Model, filterContext: FilterContext): OrderTerm[] =>
  sort.map(({ through, field, descending }) => ({
    key: valueThrough(through, (last) => sortingKey(field, last, filterContext.dialect), model, filterContext),
    descending,
  }))

/**
 * The value of a field at the end of references, which `key` selects from the last model. Each table on the way has its
 * own name, so that a reference is looked up in the record that has it, also if both are of the same model.
 */
export function valueThrough(
  through: Field[],
  key: (model: Model) => RawBuilder<SqlValue>,
  from: Model,
  filterContext: FilterContext,
  table = tableName(from),
): RawBuilder<SqlValue> {
  const [reference, ...rest] = through
  if (!reference) return key(from)
  const model = targetModel(reference, filterContext.models)
  // No model's table has such a name.
  const alias = `via__${rest.length}`
  const isReferred = is`${sql.ref(`${alias}.id`)} = ${sql.ref(`${table}.${reference.name}`)}`
  return sql`(SELECT ${valueThrough(rest, key, model, filterContext, alias)} FROM ${sql.table(tableName(model))} AS ${sql.ref(alias)}
    WHERE ${withReach(filterContext.reachFor(model), isReferred)})`
}

const sortColumn = (index: number) => `sort__${index}`

/** The ORDER BY list of an order. `id` is always last, so that the order is total and pages are stable. */
export function orderBy(order: OrderTerm[]): RawBuilder<unknown> {
  // Null sorts before all values.
  const keys = order.map(({ key, descending }) => (descending ? sql`${key} DESC NULLS LAST` : sql`${key} NULLS FIRST`))
  return sql.join([...keys, sql`"id"`])
}

/** The sort keys of each row as extra columns, from which the cursor is made. */
export const sortColumns = (order: OrderTerm[]) => order.map(({ key }, index) => key.as(sortColumn(index)))

export const cursorPosition = (row: Row, order: OrderTerm[]): Position => ({
  values: order.map((_, index) => row[sortColumn(index)] as SqlValue),
  id: row.id as number,
})

export function removeSortColumns(row: Row, order: OrderTerm[]): void {
  for (const index of order.keys()) delete row[sortColumn(index)]
}

/** The condition for rows after a position in the order of `orderBy`, where null sorts before all values. */
export function afterPosition(order: OrderTerm[], { values, id }: Position): Condition {
  return order.reduceRight<Condition>((rest, { key, descending }, index) => {
    const value = values[index] as SqlValue
    if (value === null) return descending ? is`${key} IS NULL AND ${rest}` : is`${key} IS NOT NULL OR ${rest}`
    // The first comparison is implied by the second; with it SQLite starts in the middle of an index.
    if (!descending) return is`${key} >= ${value} AND (${key} > ${value} OR ${rest})`
    return is`${key} < ${value} OR ${key} IS NULL OR (${key} = ${value} AND ${rest})`
  }, is`"id" > ${id}`)
}
