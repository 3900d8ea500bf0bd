import { type Expression, type RawBuilder, type SqlBool, sql } from 'kysely'
import { Failure } from '../../errors.ts'
import { type Reach, withReach, withReachOfFew } from '../../filters/reach.ts'
import {
  aliveCondition,
  type FilterContext,
  looksAtReferring,
  referencedModels,
  toCondition,
} from '../../filters/where.ts'
import { type Model, tableName } from '../../model/model.ts'
import { nameOfOrder, type Position } from '../../requests/cursor.ts'
import type { Query } from '../../requests/query.ts'
import { PAGE_BYTES } from '../../storage/size.ts'
import { isFault, type Row, type SearchResult, type Statement } from '../../storage/storage.ts'
import { rowDecoder } from '../../tables/columns.ts'
import type { Condition } from '../../tables/condition.ts'
import { createCounter } from '../../tables/counts.ts'
import { keyedShapes, recordRead, requireCurrentShape } from '../../tables/shape.ts'
import type { Caller } from '../caller.ts'
import type { RecordsContext, StoredRecord } from '../context.ts'
import { expand, selectedColumns } from './expand.ts'
import { helpfulIndex, indexAdvisor } from './index-advice.ts'
import {
  afterPosition,
  cursorPosition,
  type OrderKey,
  orderBy,
  removeSortColumns,
  sortColumns,
  sortOrder,
} from './order.ts'
import { createPlainPages } from './plain-pages.ts'
import {
  COMMON,
  containsWords,
  isRanked,
  MAX_RANKED,
  matchingPart,
  type Proposed,
  proposedRecords,
  rankOrder,
} from './text-search.ts'
import { isUniqueLookup } from './unique-lookup.ts'

export interface Page {
  offset?: number
  total: number
  /** the cursor of the next page, if there is one */
  next?: string
  data: StoredRecord[]
  /** of a text search that is ranked: how well the first record matches */
  best?: number
}

/** When a find has to end, and how large its page may be. */
export interface FindLimits {
  /** as `performance.now()` */
  ends: number
  bytes: number
}

export const newLimits = (seconds: number): FindLimits => ({
  ends: performance.now() + seconds * 1000,
  bytes: PAGE_BYTES,
})

/** To look up what refers to a record takes as long as to go through so many records of an index. */
const LOOKUP_COST = 5

/** Finds records of one model: a page, the total, and the cursor of the next page. */
export function createFinder(context: RecordsContext, model: Model) {
  const { storage, models, access, cursors, totals, advise, findSeconds } = context
  const table = tableName(model)
  const decode = rowDecoder(model)
  const considerIndex = indexAdvisor(storage, model, advise)
  const counts = createCounter(storage, model)
  const plain = createPlainPages(storage, model, counts)

  /** Finds a page. A search of several models passes what is left of its time and its answer's size. */
  return async function find(query: Query, caller: Caller, limits: FindLimits = newLimits(findSeconds)): Promise<Page> {
    const proposed = query.search && proposedRecords(model, query.search, storage)
    try {
      return await findPage(query, caller, limits, proposed)
    } catch (error) {
      // The index may be filled anew just now.
      if (!proposed || !isFault(error, 'stale')) throw error
      return findPage(query, caller, limits, undefined)
    }
  }

  async function findPage(query: Query, caller: Caller, limits: FindLimits, proposed?: Proposed): Promise<Page> {
    const { limit, offset, after } = query
    const position = after === undefined ? undefined : cursors.read(model, nameOfOrder(query), after)
    const reach = access.reachFor(model, 'read', caller)
    // Without an index all records are read, as those of common words are.
    const mayBeMost = query.search && (proposed?.mayBeMost ?? !proposed)
    const part = query.search && mayBeMost ? await matchingPart(model, query.search, reach, caller, storage) : 0
    const areMany = part > 0 && part * (await counts.total()) > MAX_RANKED
    const way = wayFor(query, reach, caller, limits, part > COMMON ? undefined : proposed, await sizesFor(query))
    const { order, found } = limit === 0 ? NOTHING : await pageIn(query, position, way, caller, areMany)
    const { rows, isTruncated } = found
    // One row more than requested shows that there is a next page.
    const kept = rows.slice(0, limit)
    for (const row of kept) decode(row)
    const expanded = await expand(
      { storage, models, access, cursors, user: caller, ends: limits.ends },
      model,
      kept,
      query.expand,
    )
    const data = kept.slice(0, expanded) as StoredRecord[]
    const hasMore = isTruncated || rows.length > limit || expanded < kept.length
    const last = hasMore ? cursorPosition(data.at(-1) as Row, order) : undefined
    const next = last && cursors.make(model, nameOfOrder(query), last)
    const best = found.total === undefined ? undefined : (rows[0]?.sort__0 as number | undefined)
    if (order.length > 0) for (const row of data) removeSortColumns(row, order)
    // A page without a next one is the last, so the total follows from its offset and length.
    const isLast = limit > 0 && !hasMore && !position && (data.length > 0 || offset === 0)
    const total = found.total ?? (isLast ? offset + data.length : await way.total())
    return {
      ...(!position && { offset }),
      total,
      ...(next && { next }),
      data,
      ...(best !== undefined && { best }),
    }
  }

  /** A page, and its order. Of a text search without a sort the best matches come first, unless there are too many. */
  async function pageIn(
    query: Query,
    position: Position | undefined,
    way: Way,
    user: Caller,
    areMany: boolean,
  ): Promise<PageInOrder> {
    const { dialect } = storage
    if (query.search && isRanked(query, position)) {
      const order = rankOrder(model, query.search, dialect)
      // To rank ten thousand in vain takes longer than to count them first.
      const counted = areMany ? await way.total() : 0
      if (counted <= MAX_RANKED) {
        const found = await (way as Required<Way>).ranked(order, position)
        if (found.total <= MAX_RANKED) return { order, found }
      }
      // A cursor keeps the order that it began in.
      const kept = position ? order : []
      const found = await way.page(kept, position)
      return { order: kept, found: counted > MAX_RANKED ? { ...found, total: counted } : found }
    }
    const order = sortOrder(query.sort, model, access.contextFor(user))
    return { order, found: await way.page(order, position) }
  }

  /** Tells which models have far fewer records than others, if the filter asks for records that refer to another one. */
  async function sizesFor(query: Query): Promise<FilterContext['isFewer']> {
    if (!query.filter || !looksAtReferring(query.filter)) return undefined
    const all = [model, ...referencedModels(query, models)]
    const sizes = new Map<string, number>()
    for (const one of new Set(all)) sizes.set(one.name, await createCounter(storage, one).total())
    const sizeOf = ({ name }: Model) => sizes.get(name) as number
    return (few, many) => sizeOf(few) * LOOKUP_COST <= sizeOf(many)
  }

  /** Chooses how to get the page and the total: by a bounded read if possible, otherwise by a search. */
  function wayFor(
    query: Query,
    reach: Reach,
    caller: Caller,
    limits: FindLimits,
    proposed: Proposed | undefined,
    isFewer: FilterContext['isFewer'],
  ): Way {
    const isAll = !query.filter && !query.search && reach.scope === 'all'
    if (isAll && query.sort.length === 0)
      return { page: (_order, position) => plain(query, position), total: () => counts.total() }
    const isOne = !query.search && isUniqueLookup(query.filter, model)
    const lookedAt = access.modelsBehind(model, query, caller)
    const shapes = { ...keyedShapes(lookedAt, storage.dialect.tables), ...proposed?.shapes }
    const search = async (statement: Statement) => {
      if (isOne) {
        requireCurrentShape(storage, model)
        return { rows: await storage.read(recordRead(storage.dialect, model, statement)), isTruncated: false }
      }
      const seconds = Math.max(0.001, (limits.ends - performance.now()) / 1000)
      const { username, signal } = caller
      return storage.search(statement, { username, seconds, bytes: limits.bytes, signal, shapes })
    }
    const matching = [
      ...(isOne ? [] : [aliveCondition(query, storage.dialect)]),
      ...(query.filter ? [toCondition(query.filter, model, { ...access.contextFor(caller), isFewer })] : []),
      ...(proposed?.condition ? [proposed.condition] : []),
      ...(query.search ? [containsWords(model, query.search, storage.dialect)] : []),
    ]
    const reached = (...more: Condition[]) =>
      isOne ? withReachOfFew(reach, undefined, ...matching, ...more) : withReach(reach, ...matching, ...more)
    const matches = reached()
    const total = async () => {
      // A sort changes no total.
      if (isAll) return counts.total()
      const statement = recordsFrom(proposed).select(sql<number>`count(*)`.as('total')).where(matches).compile()
      const count = async () => {
        const { rows } = await withIndexHint(query, () => search(statement))
        return (rows[0] as { total: number }).total
      }
      return isOne ? count() : totals.total(statement, lookedAt, count)
    }
    return {
      total,
      page: async (order, position) => {
        const beyond = position ? [afterPosition(order, position)] : []
        const where = reached(...beyond)
        // In the order of ids there are more matches than can be ranked: the first ones are near.
        const page = pageStatement(query, order, where, order.length > 0 ? proposed : undefined)
        const found = await withIndexHint(query, () => search(page))
        if (!isOne) await considerIndex(query, page)
        return found
      },
      ranked: async (order, position) => {
        const beyond = position ? afterRank(position) : sql`1 = 1`
        const all = recordsFrom(proposed).select(`${table}.id as match__id`).select(sortColumns(order)).where(matches)
        const { rows, isTruncated } = await withIndexHint(query, () =>
          search(rankedStatement(query, all.limit(MAX_RANKED + 1), beyond)),
        )
        const isFirst = query.offset === 0 && !position
        const counted = (rows[0]?.matches__total as number | undefined) ?? (isFirst ? 0 : await total())
        for (const row of rows) delete row.matches__total
        return { rows, isTruncated, total: counted }
      },
    }
  }

  /** All records, or those that an index proposes, in the order in which it does so. */
  function recordsFrom(proposed: Proposed | undefined) {
    if (!proposed?.records) return storage.db.selectFrom(table)
    const some = storage.db.selectFrom(sql`(${proposed.records})`.as('proposed')).crossJoin(table)
    return some.where(sql<SqlBool>`${sql.ref(`${table}.id`)} = proposed__id`) as unknown as ReturnType<
      typeof storage.db.selectFrom<string>
    >
  }

  /** All matches are ranked and counted; only a page of them is read. */
  function rankedStatement(query: Query, all: Expression<unknown>, beyond: RawBuilder<unknown>): Statement {
    const columns = selectedColumns(model, query).map((name) => sql.ref(name))
    return sql`
      WITH matches AS MATERIALIZED ${all}
      SELECT ${sql.join(columns)}, sort__0, (SELECT count(*) FROM matches) AS matches__total
      FROM (
        SELECT match__id, sort__0 FROM matches WHERE ${beyond}
        ORDER BY sort__0, match__id LIMIT ${query.limit + 1} OFFSET ${query.offset}
      ) AS best JOIN ${sql.table(table)} ON "id" = match__id ORDER BY sort__0, match__id`.compile(storage.db)
  }

  function pageStatement(query: Query, order: OrderKey[], where: Condition, proposed?: Proposed): Statement {
    return recordsFrom(proposed)
      .select(selectedColumns(model, query))
      .select(sortColumns(order))
      .where(where)
      .orderBy(orderBy(order))
      .limit(query.limit + 1)
      .offset(query.offset)
      .compile()
  }

  async function withIndexHint(query: Query, search: () => Promise<SearchResult>): Promise<SearchResult> {
    try {
      return await search()
    } catch (error) {
      if (!isFault(error, 'slow')) throw error
      const fields = helpfulIndex(query)
      const help =
        fields.length > 0
          ? `In the model file of ${model.name}, ${JSON.stringify([fields])} in "indexes" would help.`
          : 'Ask for less: filter by a field that has an index.'
      throw new Failure('FIND_TOO_SLOW', `This find was ended after ${findSeconds} seconds. ${help}`)
    }
  }
}

interface Way {
  page(order: OrderKey[], position: Position | undefined): Promise<SearchResult>
  /** a page of a text search, best first; if `total` is more than `MAX_RANKED`, it is no page of the best ones */
  ranked?(order: OrderKey[], position: Position | undefined): Promise<SearchResult & { total: number }>
  total(): Promise<number>
}

interface PageInOrder {
  order: OrderKey[]
  found: SearchResult & { total?: number }
}

const NOTHING: PageInOrder = { order: [], found: { rows: [], isTruncated: false } }

/** Where a position of a ranked page goes on. */
const afterRank = ({ values, id }: Position) =>
  sql`sort__0 > ${values[0]} OR (sort__0 = ${values[0]} AND match__id > ${id})`
