import { type Expression, type RawBuilder, type SqlBool, sql } from 'kysely'
import { Failure } from '../../errors.ts'
import {
  abortCondition,
  type FilterContext,
  referencedModels,
  toCondition,
  usesInverse,
} from '../../filters/filter-sql.ts'
import { type Reach, withReach, withReachByIndex } from '../../filters/reach.ts'
import { secondsUntil } from '../../lib/deadline.ts'
import { type Model, tableName } from '../../model/model.ts'
import type { Position } from '../../requests/cursor.ts'
import type { Query } from '../../requests/query.ts'
import { isFault, type SearchResult, type Statement } from '../../storage/storage.ts'
import type { Condition } from '../../tables/condition.ts'
import { createCounter } from '../../tables/counts.ts'
import { recordRead, requireCurrentShape, shapesWithOrderKeys } from '../../tables/shape.ts'
import type { Caller } from '../caller.ts'
import type { RecordsContext } from '../context.ts'
import { selectedColumns } from './expand.ts'
import { createIndexAdvisor, helpfulIndex } from './index-advice.ts'
import { afterPosition, type OrderTerm, orderBy, sortColumns } from './order.ts'
import { createPlainPages } from './plain-pages.ts'
import { containsWords, type IndexCandidates, MAX_RANKED } from './text-search.ts'
import { isUniqueLookup } from './unique-lookup.ts'

/** When a find has to end, and how large its page may be. */
export interface FindLimits {
  /** as `performance.now()` */
  deadline: number
  bytes: number
}

/** How the page and the total of a find are read. */
export interface FindStrategy {
  page(order: OrderTerm[], position: Position | undefined): Promise<SearchResult>
  /** a page of a text search, best first; if `total` is more than `MAX_RANKED`, it is no page of the best ones */
  rankedPage?(order: OrderTerm[], position: Position | undefined): Promise<SearchResult & { total: number }>
  total(): Promise<number>
}

/** Looking up the records that refer to one record takes as long as reading so many entries of an index. */
const LOOKUP_COST = 5

/** Creates the function that chooses how to read the page and the total of a find: by a bounded read if possible. */
export function createStrategyChooser(context: RecordsContext, model: Model, counts: ReturnType<typeof createCounter>) {
  const { storage, models, access, totals, advise, findSeconds } = context
  const table = tableName(model)
  const considerIndex = createIndexAdvisor(storage, model, advise)
  const plain = createPlainPages(storage, model, counts)

  return async function chooseStrategy(
    query: Query,
    reach: Reach,
    caller: Caller,
    limits: FindLimits,
    candidates: IndexCandidates | undefined,
  ): Promise<FindStrategy> {
    const isAll = !query.filter && !query.textSearch && reach.scope === 'all'
    if (isAll && query.sort.length === 0)
      return { page: (_order, position) => plain(query, position), total: () => counts.total() }
    const isFewer = await sizeComparison(query)
    const isOne = !query.textSearch && isUniqueLookup(query.filter, model)
    const lookedAt = access.modelsQueryDependsOn(model, query, caller)
    const shapes = { ...shapesWithOrderKeys(lookedAt, storage.dialect.tables), ...candidates?.shapes }
    const execute = async (statement: Statement) => {
      if (isOne) {
        requireCurrentShape(storage, model)
        return { rows: await storage.read(recordRead(storage.dialect, model, statement)), isTruncated: false }
      }
      const seconds = secondsUntil(limits.deadline)
      const { username, signal } = caller
      return storage.search(statement, { username, seconds, bytes: limits.bytes, signal, shapes })
    }
    const conditions = [
      ...(isOne ? [] : [abortCondition(query, storage.dialect)]),
      ...(query.filter ? [toCondition(query.filter, model, { ...access.contextFor(caller), isFewer })] : []),
      ...(candidates?.condition ? [candidates.condition] : []),
      ...(query.textSearch ? [containsWords(model, query.textSearch, storage.dialect)] : []),
    ]
    const withinReach = (...more: Condition[]) =>
      isOne ? withReachByIndex(reach, undefined, ...conditions, ...more) : withReach(reach, ...conditions, ...more)
    const allMatches = withinReach()
    const total = async () => {
      // A sort changes no total.
      if (isAll) return counts.total()
      const statement = recordsFrom(candidates).select(sql<number>`count(*)`.as('total')).where(allMatches).compile()
      const count = async () => {
        const { rows } = await withIndexHint(query, () => execute(statement))
        return (rows[0] as { total: number }).total
      }
      return isOne ? count() : totals.total(statement, lookedAt, count)
    }
    return {
      total,
      page: async (order, position) => {
        const afterCursor = position ? [afterPosition(order, position)] : []
        const where = withinReach(...afterCursor)
        // In a text search, the order is empty only if more than `MAX_RANKED` records match. Then reading the records
        // by id finds a page sooner than asking the index does.
        const page = pageStatement(query, order, where, order.length > 0 ? candidates : undefined)
        const found = await withIndexHint(query, () => execute(page))
        if (!isOne) await considerIndex(query, page)
        return found
      },
      rankedPage: async (order, position) => {
        const afterCursor = position ? afterRank(position) : sql`1 = 1`
        const all = recordsFrom(candidates)
          .select(`${table}.id as match__id`)
          .select(sortColumns(order))
          .where(allMatches)
        const { rows, isTruncated } = await withIndexHint(query, () =>
          execute(rankedStatement(query, all.limit(MAX_RANKED + 1), afterCursor)),
        )
        const isFirst = query.offset === 0 && !position
        const counted = (rows[0]?.matches__total as number | undefined) ?? (isFirst ? 0 : await total())
        for (const row of rows) delete row.matches__total
        return { rows, isTruncated, total: counted }
      },
    }
  }

  /**
   * Tells which models have far fewer records than others, if the filter asks for records that refer to another one.
   */
  async function sizeComparison(query: Query): Promise<FilterContext['isFewer']> {
    if (!query.filter || !usesInverse(query.filter)) return undefined
    const all = [model, ...referencedModels(query, models)]
    const sizes = new Map<string, number>()
    for (const one of new Set(all)) sizes.set(one.name, await createCounter(storage, one).total())
    const sizeOf = ({ name }: Model) => sizes.get(name) as number
    return (few, many) => sizeOf(few) * LOOKUP_COST <= sizeOf(many)
  }

  /** All records, or those that an index proposes, in the order in which it does so. */
  function recordsFrom(candidates: IndexCandidates | undefined) {
    if (!candidates?.records) return storage.db.selectFrom(table)
    const some = storage.db.selectFrom(sql`(${candidates.records})`.as('proposed')).crossJoin(table)
    return some.where(sql<SqlBool>`${sql.ref(`${table}.id`)} = proposed__id`) as unknown as ReturnType<
      typeof storage.db.selectFrom<string>
    >
  }

  /** All matches are ranked and counted; only a page of them is read. */
  function rankedStatement(query: Query, all: Expression<unknown>, afterCursor: RawBuilder<unknown>): Statement {
    const columns = selectedColumns(model, query).map((name) => sql.ref(name))
    return sql`
      WITH matches AS MATERIALIZED ${all}
      SELECT ${sql.join(columns)}, sort__0, (SELECT count(*) FROM matches) AS matches__total
      FROM (
        SELECT match__id, sort__0 FROM matches WHERE ${afterCursor}
        ORDER BY sort__0, match__id LIMIT ${query.limit + 1} OFFSET ${query.offset}
      ) AS best JOIN ${sql.table(table)} ON "id" = match__id ORDER BY sort__0, match__id`.compile(storage.db)
  }

  function pageStatement(query: Query, order: OrderTerm[], where: Condition, candidates?: IndexCandidates): Statement {
    return recordsFrom(candidates)
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

/** Condition for the matches after a position, in the order of ranks. */
const afterRank = ({ values, id }: Position) =>
  sql`sort__0 > ${values[0]} OR (sort__0 = ${values[0]} AND match__id > ${id})`
