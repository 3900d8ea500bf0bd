import { orderKey } from '../../lib/order-key.ts'
import { Yielder } from '../../lib/yielder.ts'
import { type Field, isText } from '../../model/model.ts'
import { type AggregateQuery, answerFields } from '../../requests/aggregate.ts'
import type { OperatorName } from '../../requests/operators.ts'
import type { Comparison, Filter } from '../../requests/query.ts'
import type { Row } from '../../storage/storage.ts'
import { encode } from '../../tables/columns.ts'

/** A value in a form that is compared fast: made once for each value, because to make it takes long. */
type Comparable = number | bigint | Buffer | null

/** Digits after the point that decimals are compared by: those of a value, and more of an average. */
const DIGITS = 60

function toComparable(value: unknown, field: Field): Comparable {
  if (value === null || value === undefined) return null
  if (field.format === 'decimal') {
    const [whole = '', fraction = ''] = String(value).split('.')
    return BigInt(whole + fraction.padEnd(DIGITS, '0'))
  }
  if (typeof value !== 'string') return Number(value)
  return Buffer.from(isText(field) ? orderKey(value) : value)
}

/** Null comes first. */
function compare(a: Comparable, b: Comparable): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? -1 : 1
  if (Buffer.isBuffer(a)) return Buffer.compare(a, b as Buffer)
  return a < (b as number) ? -1 : a > (b as number) ? 1 : 0
}

/** A row of an answer, and what it is sorted by. */
interface SortedRow {
  row: Row
  keys: Comparable[]
  /** tells texts apart whose keys are equal, as those of long ones are */
  group: string
}

/** Creates the order of an answer: by what is asked for, then by all groups. */
export function createOrder(query: AggregateQuery) {
  const fields = answerFields(query)
  const sort = [...query.sort, ...query.groups.map(({ name }) => ({ name, descending: false }))]
  const groups = query.groups.map(({ name }) => name)
  const toSortedRow = (row: Row): SortedRow => ({
    row,
    keys: sort.map(({ name }) => toComparable(row[name], fields.get(name) as Field)),
    group: JSON.stringify(groups.map((name) => row[name])),
  })
  const compareRows = (a: SortedRow, b: SortedRow): number => {
    for (const [index, { descending }] of sort.entries()) {
      const which = compare(a.keys[index] as Comparable, b.keys[index] as Comparable)
      if (which !== 0) return descending ? -which : which
    }
    return a.group < b.group ? -1 : a.group > b.group ? 1 : 0
  }
  return {
    /** the values that a cursor has, and a row with these values */
    position: (row: Row) => [...new Set(sort.map(({ name }) => name))].map((name) => row[name]),
    rowAt: (values: unknown[]): Row =>
      Object.fromEntries([...new Set(sort.map(({ name }) => name))].map((name, index) => [name, values[index]])),
    /** The rows in their order, after a row that need not be there any more. */
    async sortRows(rows: Row[], after: Row | undefined): Promise<Row[]> {
      const all = await mapYielding(rows, toSortedRow)
      all.sort(compareRows)
      const last = after && toSortedRow(after)
      return all.filter((one) => !last || compareRows(one, last) > 0).map(({ row }) => row)
    },
  }
}

/** Maps items; yields to other requests in between. */
async function mapYielding<Item, Result>(items: Item[], work: (item: Item) => Result): Promise<Result[]> {
  const yielder = new Yielder()
  const results: Result[] = []
  for (const item of items) {
    results.push(work(item))
    if (yielder.isDue) await yielder.yield()
  }
  return results
}

/** Returns the comparable form of a field's value in a row, which is made once, however many conditions ask for it. */
type ComparableLookup = (field: Field) => Comparable

type RowPredicate = (row: Row, keys: ComparableLookup) => boolean

function comparableKeys(row: Row): ComparableLookup {
  const made = new Map<string, Comparable>()
  return (field) => {
    const { name } = field
    if (!made.has(name)) made.set(name, toComparable(row[name], field))
    return made.get(name) as Comparable
  }
}

/** The rows that meet a condition. As in a search, what is not set meets only those that say so. */
export async function rowsThatMeet(having: Filter | undefined, rows: Row[]): Promise<Row[]> {
  if (!having) return rows
  const meets = compileHaving(having)
  const isMet = await mapYielding(rows, (row) => meets(row, comparableKeys(row)))
  return rows.filter((_, index) => isMet[index])
}

function compileHaving(having: Filter): RowPredicate {
  if ('all' in having) {
    const inner = having.all.map(compileHaving)
    return (row, keys) => inner.every((meets) => meets(row, keys))
  }
  if ('any' in having) {
    const inner = having.any.map(compileHaving)
    return (row, keys) => inner.some((meets) => meets(row, keys))
  }
  if ('not' in having) {
    const inner = compileHaving(having.not)
    return (row, keys) => !inner(row, keys)
  }
  return compileComparison(having as Comparison)
}

function compileComparison({ field, operator, values }: Comparison): RowPredicate {
  const { name } = field
  if (operator === 'isSet') return (row) => row[name] !== null
  const stored = values.map((value) => encode(field, value))
  // Texts are equal if they are the same, not if they are sorted alike; decimals if their numbers are.
  const exactly = (value: unknown, key: () => Comparable) =>
    field.format === 'decimal' || typeof value === 'boolean' ? key() : value
  const storedValues = new Set(stored.map((value) => exactly(value, () => toComparable(value, field))))
  if (operator === 'eq' || operator === 'in')
    return (row, keys) => row[name] !== null && storedValues.has(exactly(row[name], () => keys(field)))
  const [first = null, second = null] = stored.map((value) => toComparable(value, field))
  const isSo = ORDERED[operator as keyof typeof ORDERED]
  return (row, keys) => row[name] !== null && isSo(keys(field), first, second)
}

const ORDERED: Record<
  Exclude<OperatorName, 'like' | 'eq' | 'in' | 'isSet'>,
  (key: Comparable, first: Comparable, second: Comparable) => boolean
> = {
  gt: (key, first) => compare(key, first) > 0,
  gte: (key, first) => compare(key, first) >= 0,
  lt: (key, first) => compare(key, first) < 0,
  lte: (key, first) => compare(key, first) <= 0,
  between: (key, first, second) => compare(key, first) >= 0 && compare(key, second) <= 0,
}
