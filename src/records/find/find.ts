import { sql } from 'kysely'
import { Failure } from '../../errors.ts'
import { type Reach, reachFor } from '../../model/access.ts'
import { type Model, tableName } from '../../model/model.ts'
import type { Position } from '../../requests/cursor.ts'
import type { Query } from '../../requests/query.ts'
import { PAGE_BYTES } from '../../storage/size.ts'
import { type SearchResult, type Statement, StorageFault } from '../../storage/storage.ts'
import { withReach } from '../../tables/access-filter.ts'
import { rowDecoder } from '../../tables/columns.ts'
import type { Condition } from '../../tables/condition.ts'
import { createCounter } from '../../tables/counts.ts'
import { recordRead, requireCurrentShape, tableShapes } from '../../tables/shape.ts'
import type { Caller } from '../caller.ts'
import type { RecordsContext, StoredRecord } from '../context.ts'
import { expand, selectedColumns } from './expand.ts'
import { helpfulIndex, indexAdvisor } from './index-advice.ts'
import { afterPosition, cursorPosition, orderBy, removeSortColumns, resolveLongValues, sortColumns } from './order.ts'
import { createPlainPages } from './plain-pages.ts'
import { isUniqueLookup } from './unique-lookup.ts'
import { aliveCondition, referencedModels, toCondition } from './where.ts'

export interface Page {
  offset?: number
  total: number
  /** the cursor of the next page, if there is one */
  next?: string
  data: StoredRecord[]
}

/** Finds records of one model: a page, the total, and the cursor of the next page. */
export function createFinder(context: RecordsContext, model: Model) {
  const { storage, models, cursors, advise, findSeconds } = context
  const table = tableName(model)
  const decode = rowDecoder(model)
  const considerIndex = indexAdvisor(storage, model, advise)
  const counts = createCounter(storage, model)
  const plain = createPlainPages(storage, model, counts)

  return async function find(query: Query, caller: Caller): Promise<Page> {
    const { limit, offset, sort, after } = query
    const position = after === undefined ? undefined : cursors.read(model, sort, after)
    const way = wayFor(query, reachFor(model, 'read', caller), caller)
    const beyond = position && (await resolveLongValues(storage, model, sort, position))
    const { rows, isTruncated } = limit === 0 ? { rows: [], isTruncated: false } : await way.page(beyond)
    // One row more than requested shows that there is a next page.
    const kept = rows.slice(0, limit)
    for (const row of kept) decode(row)
    const expanded = await expand({ storage, models, user: caller }, model, kept, query.expand)
    const hasMore = isTruncated || rows.length > limit || expanded < kept.length
    const data = kept.slice(0, expanded) as StoredRecord[]
    const next = hasMore ? cursors.make(model, sort, cursorPosition(data.at(-1) as StoredRecord, sort)) : undefined
    if (sort.length > 0) for (const row of data) removeSortColumns(row, sort)
    // A page without a next one is the last, so the total follows from its offset and length.
    const isLast = limit > 0 && !hasMore && !position && (data.length > 0 || offset === 0)
    const total = isLast ? offset + data.length : await way.total()
    return { ...(!position && { offset }), total, ...(next && { next }), data }
  }

  /** Chooses how to get the page and the total: by a bounded read if possible, otherwise by a search. */
  function wayFor(query: Query, reach: Reach, caller: Caller): Way {
    if (!query.filter && query.sort.length === 0 && reach.scope === 'all')
      return { page: (position) => plain(query, position), total: () => counts.total() }
    const isOne = isUniqueLookup(query.filter, model)
    const ends = performance.now() + findSeconds * 1000
    const shapes = tableShapes([model, ...referencedModels(query.filter, models)])
    const search = async (statement: Statement) => {
      if (isOne) {
        requireCurrentShape(storage, model)
        return { rows: await storage.read(recordRead(storage.dialect, model, statement)), isTruncated: false }
      }
      const seconds = Math.max(0.001, (ends - performance.now()) / 1000)
      const { username, signal } = caller
      return storage.search(statement, { username, seconds, bytes: PAGE_BYTES, signal, shapes })
    }
    const matching = [
      ...(isOne ? [] : [aliveCondition(query.filter, storage.dialect)]),
      ...(query.filter ? [toCondition(query.filter, { models, user: caller, dialect: storage.dialect })] : []),
    ]
    return {
      page: async (position) => {
        const beyond = position ? [afterPosition(query.sort, position, storage.dialect)] : []
        const page = pageStatement(query, withReach(reach, reach.username, ...matching, ...beyond))
        const found = await withIndexHint(query, () => search(page))
        if (!isOne) await considerIndex(query, page)
        return found
      },
      total: async () => {
        const where = withReach(reach, reach.username, ...matching)
        const count = storage.db.selectFrom(table).select(sql<number>`count(*)`.as('total')).where(where).compile()
        const { rows } = await withIndexHint(query, () => search(count))
        return (rows[0] as { total: number }).total
      },
    }
  }

  function pageStatement(query: Query, where: Condition): Statement {
    return storage.db
      .selectFrom(table)
      .select(selectedColumns(model, query))
      .select(sortColumns(query.sort, storage.dialect))
      .where(where)
      .orderBy(orderBy(query.sort, storage.dialect))
      .limit(query.limit + 1)
      .offset(query.offset)
      .compile()
  }

  async function withIndexHint(query: Query, search: () => Promise<SearchResult>): Promise<SearchResult> {
    try {
      return await search()
    } catch (error) {
      if (!(error instanceof StorageFault) || error.kind !== 'slow') throw error
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
  page(position: Position | undefined): Promise<SearchResult>
  total(): Promise<number>
}
