import { type RawBuilder, sql } from 'kysely'
import { reachFor } from '../../model/access.ts'
import { type Field, type Model, tableName } from '../../model/model.ts'
import { isHashed, type Position, sha256 } from '../../requests/cursor.ts'
import { badRequest, type SortKey } from '../../requests/query.ts'
import type { Row, SqlValue, Storage } from '../../storage/storage.ts'
import { withReach } from '../../tables/access-filter.ts'
import { type Condition, is } from '../../tables/condition.ts'
import { recordRead } from '../../tables/shape.ts'
import { comparisonKey, type FilterContext, referredModel } from './where.ts'

/** One key of an order. */
export interface OrderKey {
  key: RawBuilder<SqlValue>
  descending: boolean
}

/** The keys of a sort. A record that is referred to, and that the user may not read, counts as not set. */
export const sortOrder = (sort: SortKey[], model: Model, asking: FilterContext): OrderKey[] =>
  sort.map(({ through, field, descending }) => ({
    key: keyThrough(through, field, tableName(model), asking),
    descending,
  }))

/**
 * The value of a field at the end of references. Each table on the way has its own name, so that a reference is looked up
 * in the record that has it, also if both are of the same model.
 */
function keyThrough(through: Field[], field: Field, from: string, asking: FilterContext): RawBuilder<SqlValue> {
  const [reference, ...rest] = through
  if (!reference) return comparisonKey(field, asking.dialect)
  const model = referredModel(reference, asking.models)
  const reach = reachFor(model, 'read', asking.user)
  // No model's table has such a name.
  const alias = `via__${rest.length}`
  const isThat = is`${sql.ref(`${alias}.id`)} = ${sql.ref(`${from}.${reference.name}`)}`
  return sql`(SELECT ${keyThrough(rest, field, alias, asking)} FROM ${sql.table(tableName(model))} AS ${sql.ref(alias)}
    WHERE ${withReach(reach, reach.username, isThat)})`
}

const sortColumn = (index: number) => `sort__${index}`

/** The ORDER BY list of an order. `id` is always last, so that the order is total and pages are stable. */
export function orderBy(order: OrderKey[]): RawBuilder<unknown> {
  // Null sorts before all values.
  const keys = order.map(({ key, descending }) => (descending ? sql`${key} DESC NULLS LAST` : sql`${key} NULLS FIRST`))
  return sql.join([...keys, sql`"id"`])
}

/** The sort keys of each row as extra columns, from which the cursor is made. */
export const sortColumns = (order: OrderKey[]) => order.map(({ key }, index) => key.as(sortColumn(index)))

export const cursorPosition = (row: Row, order: OrderKey[]): Position => ({
  values: order.map((_, index) => row[sortColumn(index)] as SqlValue),
  id: row.id as number,
})

export function removeSortColumns(row: Row, order: OrderKey[]): void {
  for (const index of order.keys()) delete row[sortColumn(index)]
}

/** Replaces hashes of texts that were too long for the cursor by the texts, read from the page's last record. */
export async function resolveLongValues(
  storage: Storage,
  model: Model,
  order: OrderKey[],
  { values, id }: Position,
): Promise<Position> {
  if (!values.some(isHashed)) return { values, id }
  const row = await storage.readOne(
    recordRead(
      storage.dialect,
      model,
      storage.db.selectFrom(tableName(model)).select(sortColumns(order)).where('id', '=', id).compile(),
    ),
  )
  const found = order.map((_, index) => row?.[sortColumn(index)] as SqlValue)
  const isSame = values.every((value, index) => !isHashed(value) || value.hash === sha256(String(found[index])))
  if (!isSame)
    throw badRequest(
      `"after": the record ${id}, where the page ended, or what it refers to has been changed since. Start from the first page.`,
    )
  return { values: values.map((value, index) => (isHashed(value) ? (found[index] as SqlValue) : value)), id }
}

/** The condition for rows after a position in the order of `orderBy`, where null sorts before all values. */
export function afterPosition(order: OrderKey[], { values, id }: Position): Condition {
  return order.reduceRight<Condition>((rest, { key, descending }, index) => {
    const value = values[index] as SqlValue
    if (value === null) return descending ? is`${key} IS NULL AND ${rest}` : is`${key} IS NOT NULL OR ${rest}`
    // The first comparison is implied by the second; with it SQLite starts in the middle of an index.
    if (!descending) return is`${key} >= ${value} AND (${key} > ${value} OR ${rest})`
    return is`${key} < ${value} OR ${key} IS NULL OR (${key} = ${value} AND ${rest})`
  }, is`"id" > ${id}`)
}
