import { sql } from 'kysely'
import { Failure } from '../../errors.ts'
import { type Reach, reachFor, type User } from '../../model/access.ts'
import { type Model, tableName } from '../../model/model.ts'
import { nameOfOrder, type Position } from '../../requests/cursor.ts'
import type { Query } from '../../requests/query.ts'
import { PAGE_BYTES } from '../../storage/size.ts'
import { isFault, type Row, type SearchResult, type Statement } from '../../storage/storage.ts'
import { withReach } from '../../tables/access-filter.ts'
import { rowDecoder } from '../../tables/columns.ts'
import type { Condition } from '../../tables/condition.ts'
import { createCounter } from '../../tables/counts.ts'
import { recordRead, requireCurrentShape, tableShapes } from '../../tables/shape.ts'
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
  resolveLongValues,
  sortColumns,
  sortOrder,
} from './order.ts'
import { createPlainPages } from './plain-pages.ts'
import { bestOf, containsWords, isOneOf, MAX_RANKED, RANKED_BYTES, type Ranked, rankOrder } from './text-search.ts'
import { isUniqueLookup } from './unique-lookup.ts'
import { aliveCondition, referencedModels, toCondition } from './where.ts'

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

/** Finds records of one model: a page, the total, and the cursor of the next page. */
export function createFinder(context: RecordsContext, model: Model) {
  const { storage, models, cursors, advise, findSeconds } = context
  const table = tableName(model)
  const decode = rowDecoder(model)
  const considerIndex = indexAdvisor(storage, model, advise)
  const counts = createCounter(storage, model)
  const plain = createPlainPages(storage, model, counts)

  /** Finds a page. A search of several models passes what is left of its time and its answer's size. */
  return async function find(query: Query, caller: Caller, limits: FindLimits = newLimits(findSeconds)): Promise<Page> {
    const { limit, offset, after } = query
    const position = after === undefined ? undefined : cursors.read(model, nameOfOrder(query), after)
    const way = wayFor(query, reachFor(model, 'read', caller), caller, limits)
    const { order, ranked } = await orderFor(query, position, way, caller)
    const beyond = position && (await resolveLongValues(storage, model, order, position))
    const best = ranked && bestOf(ranked, query, beyond)
    const { rows, isTruncated } = limit === 0 ? NOTHING : await way.page(order, beyond, best)
    // One row more than requested shows that there is a next page.
    const kept = rows.slice(0, limit)
    for (const row of kept) decode(row)
    const expanded = await expand({ storage, models, user: caller }, model, kept, query.expand)
    const data = kept.slice(0, expanded) as StoredRecord[]
    // Ranked matches may have been deleted since; then the page is shorter, and yet not the last one.
    const hasMore = isTruncated || Math.max(rows.length, best?.length ?? 0) > limit || expanded < kept.length
    const last = hasMore ? cursorPosition((data.at(-1) ?? best?.at(limit - 1)) as Row, order) : undefined
    const next = last && cursors.make(model, nameOfOrder(query), last)
    if (order.length > 0) for (const row of data) removeSortColumns(row, order)
    // A page without a next one is the last, so the total follows from its offset and length.
    const isLast = limit > 0 && !hasMore && !position && (data.length > 0 || offset === 0)
    const total = ranked?.length ?? (isLast ? offset + data.length : await way.total())
    return {
      ...(!position && { offset }),
      total,
      ...(next && { next }),
      data,
      ...(best?.[0] && { best: best[0].sort__0 }),
    }
  }

  /** Without a sort the best matches come first, unless there are too many. A cursor keeps the order that it began in. */
  async function orderFor(
    { sort, search, limit }: Query,
    position: Position | undefined,
    way: Way,
    user: User,
  ): Promise<{ order: OrderKey[]; ranked?: Ranked[] | undefined }> {
    const { dialect } = storage
    if (!search || sort.length > 0 || limit === 0) return { order: sortOrder(sort, model, { models, user, dialect }) }
    if (position?.values.length === 0) return { order: [] }
    const order = rankOrder(model, search, dialect)
    const ranked = await (way as Required<Way>).rank(order)
    if (ranked.length <= MAX_RANKED) return { order, ranked }
    return { order: position ? order : [] }
  }

  /** Chooses how to get the page and the total: by a bounded read if possible, otherwise by a search. */
  function wayFor(query: Query, reach: Reach, caller: Caller, limits: FindLimits): Way {
    if (!query.filter && !query.search && query.sort.length === 0 && reach.scope === 'all')
      return { page: (_order, position) => plain(query, position), total: () => counts.total() }
    const isOne = !query.search && isUniqueLookup(query.filter, model)
    const shapes = tableShapes([model, ...referencedModels(query, models)])
    const search = async (statement: Statement, bytes = limits.bytes) => {
      if (isOne) {
        requireCurrentShape(storage, model)
        return { rows: await storage.read(recordRead(storage.dialect, model, statement)), isTruncated: false }
      }
      const seconds = Math.max(0.001, (limits.ends - performance.now()) / 1000)
      const { username, signal } = caller
      return storage.search(statement, { username, seconds, bytes, signal, shapes })
    }
    const matching = [
      ...(isOne ? [] : [aliveCondition(query, storage.dialect)]),
      ...(query.filter ? [toCondition(query.filter, { models, user: caller, dialect: storage.dialect })] : []),
      ...(query.search ? [containsWords(model, query.search, storage.dialect)] : []),
    ]
    return {
      page: async (order, position, best) => {
        const beyond = best ? [isOneOf(best, storage.dialect)] : position ? [afterPosition(order, position)] : []
        const where = withReach(reach, reach.username, ...matching, ...beyond)
        const page = pageStatement(best ? { ...query, offset: 0 } : query, order, where)
        const found = await withIndexHint(query, () => search(page))
        if (!isOne) await considerIndex(query, page)
        return found
      },
      rank: async (order) => {
        const where = withReach(reach, reach.username, ...matching)
        const all = storage.db.selectFrom(table).select('id').select(sortColumns(order)).where(where)
        const some = all.limit(MAX_RANKED + 1).compile()
        return (await withIndexHint(query, () => search(some, RANKED_BYTES))).rows as unknown as Ranked[]
      },
      total: async () => {
        const where = withReach(reach, reach.username, ...matching)
        const count = storage.db.selectFrom(table).select(sql<number>`count(*)`.as('total')).where(where).compile()
        const { rows } = await withIndexHint(query, () => search(count))
        return (rows[0] as { total: number }).total
      },
    }
  }

  function pageStatement(query: Query, order: OrderKey[], where: Condition): Statement {
    return storage.db
      .selectFrom(table)
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
  /** `best` are the matches of this page and the next one, if they are known already */
  page(order: OrderKey[], position: Position | undefined, best: Ranked[] | undefined): Promise<SearchResult>
  /** all matches of a text search with their rank, at most one more than can be ranked */
  rank?(order: OrderKey[]): Promise<Ranked[]>
  total(): Promise<number>
}

const NOTHING: SearchResult = { rows: [], isTruncated: false }
