import { type RawBuilder, sql } from 'kysely'
import { type Model, tableName } from '../../model/model.ts'
import { isHashed, type Position, sha256 } from '../../requests/cursor.ts'
import { badRequest, type SortKey } from '../../requests/query.ts'
import type { Dialect, Row, SqlValue, Storage } from '../../storage/storage.ts'
import { type Condition, is } from '../../tables/condition.ts'
import { recordRead } from '../../tables/shape.ts'
import { comparisonKey } from './where.ts'

const sortColumn = (index: number) => `sort__${index}`

/** The ORDER BY list of a sort. `id` is always last, so that the order is total and pages are stable. */
export function orderBy(sort: SortKey[], dialect: Dialect): RawBuilder<unknown> {
  const keys = sort.map(({ field, descending }) => {
    const key = comparisonKey(field, dialect)
    // Null sorts before all values.
    return descending ? sql`${key} DESC NULLS LAST` : sql`${key} NULLS FIRST`
  })
  return sql.join([...keys, sql`"id"`])
}

/** The sort keys of each row as extra columns, from which the cursor is made. */
export const sortColumns = (sort: SortKey[], dialect: Dialect) =>
  sort.map(({ field }, index) => comparisonKey(field, dialect).as(sortColumn(index)))

export const cursorPosition = (row: Row, sort: SortKey[]): Position => ({
  values: sort.map((_, index) => row[sortColumn(index)] as SqlValue),
  id: row.id as number,
})

export function removeSortColumns(row: Row, sort: SortKey[]): void {
  for (const index of sort.keys()) delete row[sortColumn(index)]
}

/** Replaces hashes of texts that were too long for the cursor by the texts, read from the page's last record. */
export async function resolveLongValues(
  storage: Storage,
  model: Model,
  sort: SortKey[],
  { values, id }: Position,
): Promise<Position> {
  if (!values.some(isHashed)) return { values, id }
  const row = await storage.readOne(
    recordRead(
      storage.dialect,
      model,
      storage.db.selectFrom(tableName(model)).select(sortColumns(sort, storage.dialect)).where('id', '=', id).compile(),
    ),
  )
  const found = sort.map((_, index) => row?.[sortColumn(index)] as SqlValue)
  const isSame = values.every((value, index) => !isHashed(value) || value.hash === sha256(String(found[index])))
  if (!isSame)
    throw badRequest(
      `"after": the record ${id}, where the page ended, has been changed since. Start from the first page.`,
    )
  return { values: values.map((value, index) => (isHashed(value) ? (found[index] as SqlValue) : value)), id }
}

/** The condition for rows after a position in the order of `orderBy`, where null sorts before all values. */
export function afterPosition(sort: SortKey[], { values, id }: Position, dialect: Dialect): Condition {
  return sort.reduceRight<Condition>((rest, { field, descending }, index) => {
    const key = comparisonKey(field, dialect)
    const value = values[index] as SqlValue
    if (value === null) return descending ? is`${key} IS NULL AND ${rest}` : is`${key} IS NOT NULL OR ${rest}`
    // The first comparison is implied by the second; with it SQLite starts in the middle of an index.
    if (!descending) return is`${key} >= ${value} AND (${key} > ${value} OR ${rest})`
    return is`${key} < ${value} OR ${key} IS NULL OR (${key} = ${value} AND ${rest})`
  }, is`"id" > ${id}`)
}
