import { sql } from 'kysely'
import { Failure } from '../../errors.ts'
import { abortCondition, toCondition } from '../../filters/filter-sql.ts'
import { withReach } from '../../filters/reach.ts'
import type { Model } from '../../model/model.ts'
import type { AggregateQuery } from '../../requests/aggregate.ts'
import { isFault, type Row, type SqlValue } from '../../storage/storage.ts'
import { shapesWithOrderKeys } from '../../tables/shape.ts'
import type { Caller } from '../caller.ts'
import type { RecordsContext } from '../context.ts'
import { expand } from '../find/expand.ts'
import { containsWords } from '../find/text-search.ts'
import {
  type AnswerColumn,
  groupColumn,
  recordsWithItems,
  rowNumber,
  sumTooLargeFailure,
  toAnswer,
  valueColumn,
} from './columns.ts'
import { createOrder, rowsThatMeet } from './sort-and-having.ts'

/** Groups of one answer, all of its pages together, and their bytes. */
const MAX_GROUPS = 10_000
const MAX_BYTES = 16_777_216

export interface AggregatePage {
  total: number
  next?: string
  data: Row[]
}

/**
 * Counts and sums the records of one model. It is a search: the same filters and reach, time limit and threads. All
 * groups are read; conditions on them, their order and the page are made here, from exact values.
 */
export function createAggregator(context: RecordsContext, model: Model) {
  const { storage, models, access, cursors, findSeconds } = context

  return async function aggregate(query: AggregateQuery, caller: Caller): Promise<AggregatePage> {
    const deadline = performance.now() + findSeconds * 1000
    const filterContext = { ...access.contextFor(caller), model, zone: query.zone }
    const columns = [
      ...query.groups.map((group) => groupColumn(group, filterContext)),
      ...query.values.map((value) => valueColumn(value, filterContext)),
    ]
    const order = JSON.stringify([query.groups.map(({ name, by }) => [name, by]), query.sort, query.zone])
    const position = query.after === undefined ? undefined : cursors.read(model, `aggregate ${order}`, query.after)
    const sorting = createOrder(query)
    const all = await rowsThatMeet(query.having, await read(query, columns, caller))
    const rest = await sorting.sortRows(all, position && sorting.rowAt(position.values))
    const data = rest.slice(0, query.limit)
    const last = data.at(-1)
    const next =
      rest.length > data.length && last
        ? cursors.make(model, `aggregate ${order}`, { values: sorting.position(last) as SqlValue[], id: 0 })
        : undefined
    await expand({ storage, models, access, cursors, user: caller, deadline }, model, data, query.expand)
    return { total: all.length, ...(next && { next }), data }
  }

  async function read(query: AggregateQuery, columns: AnswerColumn[], caller: Caller): Promise<Row[]> {
    const { dialect, db } = storage
    const { filter, textSearch, groups } = query
    const array = groups.find((group) => group.array)?.array
    const filterContext = access.contextFor(caller)
    const reach = access.reachFor(model, 'read', caller)
    const where = withReach(
      reach,
      abortCondition(query, dialect, rowNumber(array)),
      ...(filter ? [toCondition(filter, model, filterContext)] : []),
      ...(textSearch ? [containsWords(model, textSearch, dialect)] : []),
    )
    const selected = columns
      .flatMap(({ selects }) => selects)
      .map((one, index) => sql`${one} AS ${sql.ref(`column__${index}`)}`)
    const places = groups.map((_, index) => sql.lit(index + 1))
    const grouped = places.length > 0 ? sql`GROUP BY ${sql.join(places)} LIMIT ${MAX_GROUPS + 1}` : sql``
    const from = recordsWithItems(array, { ...filterContext, model, zone: query.zone })
    const statement = sql`SELECT ${sql.join(selected)} FROM ${from} WHERE ${where} ${grouped}`
    const concerned = access.modelsQueryDependsOn(model, { filter, sort: [...groups, ...query.values] }, caller)
    const { username, signal } = caller
    const shapes = shapesWithOrderKeys(concerned, dialect.tables)
    const options = { username, signal, seconds: findSeconds, bytes: MAX_BYTES, shapes }
    const { rows, isTruncated } = await storage.search(statement.compile(db), options).catch((error: unknown) => {
      throw isFault(error, 'slow') ? TOO_SLOW : isFault(error, 'large') ? sumTooLargeFailure('A sum') : error
    })
    if (isTruncated || rows.length > MAX_GROUPS) throw TOO_MANY_GROUPS
    return rows.map((row) => toAnswer(row, columns))
  }
}

const TOO_SLOW = new Failure('FIND_TOO_SLOW', 'This took too long. Filter by a field that has an index.')

const TOO_MANY_GROUPS = new Failure(
  'FIND_TOO_SLOW',
  `There are more than ${MAX_GROUPS} groups. Filter, or group by less.`,
)
