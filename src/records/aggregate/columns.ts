import { type RawBuilder, sql } from 'kysely'
import { Failure } from '../../errors.ts'
import { comparisonKey, type FilterContext } from '../../filters/filter-sql.ts'
import { decimalAverage } from '../../lib/decimal-sum.ts'
import { type Field, type Model, tableName } from '../../model/model.ts'
import type { AggregateValue, GroupKey } from '../../requests/aggregate.ts'
import { decimalFromKey } from '../../storage/decimal.ts'
import type { Dialect, Row, SqlValue } from '../../storage/storage.ts'
import { valueThrough } from '../find/order.ts'

/** A part of the answer: what is selected for it, and how it is made from that. */
export interface AnswerColumn {
  name: string
  selects: RawBuilder<unknown>[]
  toValue(selected: SqlValue[]): unknown
}

type AggregateContext = FilterContext & { model: Model; zone: string }

/** The value by which records are grouped. */
export function groupColumn({ name, through, field, array, by }: GroupKey, context: AggregateContext): AnswerColumn {
  const { dialect, zone } = context
  if (array) return { name, selects: [itemKey(field)], toValue: ([value]) => value ?? null }
  const plain = comparisonKey(field, dialect)
  const key = by === undefined ? plain : dialect.period(plain, by, zone)
  return {
    name,
    selects: [valueThrough(through, () => key, context.model, context)],
    toValue: ([value]) => decoded(field, value ?? null),
  }
}

const itemColumn = (name: string) => `item__${name}`

function itemKey({ name, type }: Field): RawBuilder<unknown> {
  const item = sql.ref(itemColumn(name))
  if (type === 'string') return item
  return type === 'integer' ? sql`CAST(${item} AS BIGINT)` : sql`CAST(${item} AS DOUBLE PRECISION)`
}

/** The records to group. One with several items in an array is there once for each of them. */
export function recordsWithItems(array: Field | undefined, { model, dialect }: AggregateContext): RawBuilder<unknown> {
  const table = sql.table(tableName(model))
  if (!array) return table
  const item = sql`item__all.value AS ${sql.ref(itemColumn(array.name))}, item__all.key AS item__place`
  const items = dialect.jsonEach(sql.ref(`${tableName(model)}.${array.name}`))
  return sql`(SELECT ${table}.*, ${item} FROM ${table} LEFT JOIN ${items} AS item__all ON 1 = 1) AS ${table}`
}

/** A number that differs from row to row of `recordsWithItems`. */
export const rowNumber = (array: Field | undefined) => (array ? sql`("id" + coalesce(item__place, 0))` : sql`"id"`)

/** A number of each group. */
export function valueColumn(value: AggregateValue, context: AggregateContext): AnswerColumn {
  const { name, aggregate, through, field } = value
  if (!field) return { name, selects: [sql`count(*)`], toValue: ([count]) => count }
  const atEnd = (key: RawBuilder<SqlValue>) => valueThrough(through, () => key, context.model, context)
  const key = atEnd(comparisonKey(field, context.dialect))
  if (aggregate === 'countDistinct')
    return { name, selects: [sql`count(DISTINCT ${key})`], toValue: ([count]) => count }
  if (aggregate === 'min' || aggregate === 'max') return extremeColumn(name, aggregate, field, key)
  // Making the key of a decimal is the slowest part.
  const stored = atEnd(sql`${sql.ref(field.name)}`)
  if (field.format === 'decimal') return decimalColumn(value, stored, context.dialect)
  return field.type === 'number' ? numberColumn(value, key, stored) : integerColumn(value, key, stored)
}

function extremeColumn(name: string, aggregate: 'min' | 'max', field: Field, key: RawBuilder<unknown>): AnswerColumn {
  return {
    name,
    selects: [aggregate === 'min' ? sql`min(${key})` : sql`max(${key})`],
    toValue: ([value]) => decoded(field, value ?? null),
  }
}

/** Sum or average of decimals. */
function decimalColumn(
  { name, aggregate }: AggregateValue,
  stored: RawBuilder<unknown>,
  dialect: Dialect,
): AnswerColumn {
  return {
    name,
    selects: [dialect.decimalSum(stored), sql`count(${stored})`],
    toValue: ([sum, n]) => {
      if (aggregate === 'sum') return sum ?? '0'
      return n === 0 ? null : decimalAverage(sum as string, n as number)
    },
  }
}

/** Sum or average of numbers that need not be whole. */
function numberColumn(
  { name, aggregate }: AggregateValue,
  key: RawBuilder<unknown>,
  stored: RawBuilder<unknown>,
): AnswerColumn {
  return {
    name,
    selects: [sql`sum(${key})`, sql`count(${stored})`],
    toValue: ([sum, n]) => {
      if (n === 0) return aggregate === 'sum' ? 0 : null
      // SQLite has no infinite numbers.
      if (!Number.isFinite(sum)) throw sumTooLargeFailure(name)
      return aggregate === 'sum' ? sum : average(sum as number, n as number)
    },
  }
}

/** Sum or average of integers. A sum may be larger than the engines' own, so its halves are summed by themselves. */
function integerColumn(
  { name, aggregate }: AggregateValue,
  key: RawBuilder<unknown>,
  stored: RawBuilder<unknown>,
): AnswerColumn {
  return {
    name,
    selects: [
      sql`CAST(sum(${key} >> ${sql.lit(HALF_BITS)}) AS TEXT)`,
      sql`CAST(sum(${key} & ${sql.lit(2 ** HALF_BITS - 1)}) AS TEXT)`,
      sql`count(${stored})`,
    ],
    toValue: ([high, low, n]) => {
      const sum = BigInt(high ?? 0) * BigInt(2 ** HALF_BITS) + BigInt(low ?? 0)
      if (aggregate === 'avg') return average(Number(sum), n as number)
      if (BigInt(Number(sum)) !== sum || !Number.isSafeInteger(Number(sum))) throw sumTooLargeFailure(name)
      return Number(sum)
    },
  }
}

const average = (sum: number, n: number) => (n === 0 ? null : sum / n)

const HALF_BITS = 26

export const sumTooLargeFailure = (name: string) =>
  new Failure('VALIDATION_FAILED', `${name}: the sum is too large to be exact.`, {
    errors: { [name]: 'the sum is too large to be exact' },
  })

function decoded({ type, format }: Field, value: SqlValue): unknown {
  if (value === null) return null
  if (type === 'boolean') return value === 1
  return format === 'decimal' ? decimalFromKey(value as string) : value
}

/** The row of an answer, from the columns of a selected row. */
export function toAnswer(row: Row, columns: AnswerColumn[]): Row {
  const selected = Object.values(row) as SqlValue[]
  const answer: Row = {}
  let from = 0
  for (const { name, selects, toValue } of columns) {
    answer[name] = toValue(selected.slice(from, from + selects.length))
    from += selects.length
  }
  return answer
}
