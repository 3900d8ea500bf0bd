import type { Model } from '../../model/model.ts'
import { nameOfOrder, type Position } from '../../requests/cursor.ts'
import type { Query } from '../../requests/query.ts'
import { PAGE_BYTES } from '../../storage/size.ts'
import { isFault, type Row, type SearchResult } from '../../storage/storage.ts'
import { createRowDecoder } from '../../tables/columns.ts'
import { createCounter } from '../../tables/counts.ts'
import type { Caller } from '../caller.ts'
import type { RecordsContext, StoredRecord } from '../context.ts'
import { expand } from './expand.ts'
import { createStrategyChooser, type FindLimits, type FindStrategy } from './find-strategy.ts'
import { cursorPosition, type OrderTerm, removeSortColumns, sortOrder } from './order.ts'
import {
  estimateSelectivity,
  findCandidates,
  type IndexCandidates,
  isRanked,
  MAX_INDEXED_SHARE,
  MAX_RANKED,
  rankOrder,
} from './text-search.ts'

export interface Page {
  offset?: number
  total: number
  /** the cursor of the next page, if there is one */
  next?: string
  data: StoredRecord[]
  /** of a text search that is ranked: how well the first record matches */
  best?: number
}

export const createFindLimits = (seconds: number): FindLimits => ({
  deadline: performance.now() + seconds * 1000,
  bytes: PAGE_BYTES,
})

/** Finds records of one model: a page, the total, and the cursor of the next page. */
export function createFinder(context: RecordsContext, model: Model) {
  const { storage, models, access, cursors, findSeconds } = context
  const decode = createRowDecoder(model)
  const counts = createCounter(storage, model)
  const chooseStrategy = createStrategyChooser(context, model, counts)

  /** Finds a page. A search of several models passes what is left of its time and its answer's size. */
  return async function find(
    query: Query,
    caller: Caller,
    limits: FindLimits = createFindLimits(findSeconds),
  ): Promise<Page> {
    const candidates = query.textSearch && findCandidates(model, query.textSearch, storage)
    try {
      return await findPage(query, caller, limits, candidates)
    } catch (error) {
      // The index may be filled anew just now.
      if (!candidates || !isFault(error, 'stale')) throw error
      return findPage(query, caller, limits, undefined)
    }
  }

  async function findPage(
    query: Query,
    caller: Caller,
    limits: FindLimits,
    candidates?: IndexCandidates,
  ): Promise<Page> {
    const { limit, offset, after } = query
    const position = after === undefined ? undefined : cursors.read(model, nameOfOrder(query), after)
    const reach = access.reachFor(model, 'read', caller)
    // An index is of no use for words that most records contain: whether they do is estimated first.
    const mayMatchMost = query.textSearch && (candidates?.mayProposeMost ?? !candidates)
    const selectivity =
      query.textSearch && mayMatchMost ? await estimateSelectivity(model, query.textSearch, reach, caller, storage) : 0
    const hasTooManyToRank = selectivity > 0 && selectivity * (await counts.total()) > MAX_RANKED
    const strategy = await chooseStrategy(
      query,
      reach,
      caller,
      limits,
      selectivity > MAX_INDEXED_SHARE ? undefined : candidates,
    )
    const { order, found, isBestFirst } =
      limit === 0 ? NOTHING : await pageInOrder(query, position, strategy, caller, hasTooManyToRank)
    const { rows, isTruncated } = found
    // One row more than requested shows that there is a next page.
    const kept = rows.slice(0, limit)
    for (const row of kept) decode(row)
    const expanded = await expand(
      { storage, models, access, cursors, user: caller, deadline: limits.deadline },
      model,
      kept,
      query.expand,
    )
    const data = kept.slice(0, expanded) as StoredRecord[]
    const hasMore = isTruncated || rows.length > limit || expanded < kept.length
    const last = hasMore ? cursorPosition(data.at(-1) as Row, order) : undefined
    const next = last && cursors.make(model, nameOfOrder(query), last)
    const best = isBestFirst ? (rows[0]?.sort__0 as number | undefined) : undefined
    if (order.length > 0) for (const row of data) removeSortColumns(row, order)
    // A page without a next one is the last, so the total follows from its offset and length.
    const isLast = limit > 0 && !hasMore && !position && (data.length > 0 || offset === 0)
    const total = found.total ?? (isLast ? offset + data.length : await strategy.total())
    return {
      ...(!position && { offset }),
      total,
      ...(next && { next }),
      data,
      ...(best !== undefined && { best }),
    }
  }

  /** A page, and its order. Of a text search without a sort the best matches come first, unless there are too many. */
  async function pageInOrder(
    query: Query,
    position: Position | undefined,
    strategy: FindStrategy,
    user: Caller,
    hasTooManyToRank: boolean,
  ): Promise<PageInOrder> {
    if (!query.textSearch || !isRanked(query, position)) {
      const order = sortOrder(query.sort, model, access.contextFor(user))
      return { order, found: await strategy.page(order, position), isBestFirst: false }
    }
    const order = rankOrder(model, query.textSearch, storage.dialect)
    // If there seem to be too many matches to rank, they are counted first: a ranking that is given up costs more.
    const counted = hasTooManyToRank ? await strategy.total() : 0
    if (counted <= MAX_RANKED) {
      const found = await (strategy as Required<FindStrategy>).rankedPage(order, position)
      if (found.total <= MAX_RANKED) return { order, found, isBestFirst: true }
    }
    // After the first page the ranked order stays, even if there are too many matches by now: the cursor has a rank.
    const keptOrder = position ? order : []
    const found = await strategy.page(keptOrder, position)
    return {
      order: keptOrder,
      found: counted > MAX_RANKED ? { ...found, total: counted } : found,
      isBestFirst: false,
    }
  }
}

interface PageInOrder {
  order: OrderTerm[]
  found: SearchResult & { total?: number }
  /** whether the first record matches best */
  isBestFirst: boolean
}

const NOTHING: PageInOrder = { order: [], found: { rows: [], isTruncated: false }, isBestFirst: false }
