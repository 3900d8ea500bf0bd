import { sql } from 'kysely'
import { selectNow } from '../database/database.ts'
import { type Person, type Scope, scopeOf } from '../model/access.ts'
import type { Position } from '../model/cursor.ts'
import { type Model, tableOf } from '../model/model.ts'
import type { Query, SortKey } from '../model/query.ts'
import { rowDecoder, type SqlValue } from '../tables/columns.ts'
import { countsOf } from '../tables/counts.ts'
import { indexAdvisor } from './advice.ts'
import { compiledOnce } from './compiled.ts'
import { columnsOf, expand } from './expand.ts'
import type { Stored, Surroundings } from './surroundings.ts'
import { afterPosition, conditionOf, EVERYTHING, keyOf, orderOf, ownerOf, ownership } from './where.ts'

export interface Page {
  offset?: number
  total: number
  /** the cursor of the next page, if there is one */
  next?: string
  data: Stored[]
}

/** Finds records of one model: a page of them, how many there are, and where the next page begins. */
export function finderOf({ db, models, cursors, advise }: Surroundings, model: Model) {
  const table = tableOf(model)
  const decode = rowDecoder(model)
  const considerIndex = indexAdvisor(db, model, advise)
  const compiled = compiledOnce()
  const counts = countsOf(db, model)

  return async function find(query: Query, person: Person): Promise<Page> {
    const { limit, offset, sort, after } = query
    const scope = scopeOf(model, 'read', person)
    const position = after === undefined ? undefined : cursors.read(model, sort, after)
    const rows = limit > 0 ? await pageOf(query, scope, person, position) : []
    const hasMore = rows.length > limit
    if (hasMore) rows.pop()
    const next = hasMore ? cursors.make(model, sort, positionOf(rows.at(-1) as Stored, sort)) : undefined
    for (const row of rows) {
      removeSortColumns(row, sort)
      decode(row)
    }
    // A page that is not full is the last one: then the total is known.
    const isLast = limit > 0 && !hasMore && !position && (rows.length > 0 || offset === 0)
    const total = isLast ? offset + rows.length : await totalOf(query, scope, person)
    if (query.expand.length > 0) await expand(db, models, model, rows, query.expand, person)
    return { ...(!position && { offset }), total, ...(next && { next }), data: rows }
  }

  /** One record more than asked for: it tells whether there is a next page. */
  async function pageOf(query: Query, scope: Scope, person: Person, position?: Position): Promise<Stored[]> {
    if (!query.filter && query.sort.length === 0) return plainPage(query, scope, person, position)
    const page = pageQuery(query, scope, person)
      .where(position ? afterPosition(query.sort, position) : EVERYTHING)
      .compile()
    const rows = selectNow<Stored>(db, page, page.parameters)
    await considerIndex(query, page)
    return rows
  }

  /** All records in the order of their ids: one statement for every page, compiled once. */
  function plainPage(query: Query, scope: Scope, person: Person, position?: Position): Stored[] {
    const { from, skip } = position ? { from: position.id + 1, skip: 0 } : startOf(query, scope)
    const page = compiled(`${scope} ${query.fields ?? '*'} ${query.expand}`, () =>
      pageQuery(query, scope, person).where('id', '>=', from),
    )
    return selectNow<Stored>(db, page, [...ownerOf(scope, person), from, query.limit + 1, skip])
  }

  /** The blocks count all records; where somebody reaches only some, SQLite has to step over them. */
  function startOf({ offset }: Query, scope: Scope): { from: number; skip: number } {
    return scope === 'all' && offset > 0 ? counts.locate(offset) : { from: 0, skip: offset }
  }

  function pageQuery(query: Query, scope: Scope, person: Person) {
    const { limit, offset, sort } = query
    return (
      matching(query, scope, person)
        .select(columnsOf(model, query))
        .select(sort.map(({ field }, index) => keyOf(field).as(sortColumn(index))))
        .orderBy(orderOf(sort))
        // With a bare parameter SQLite would plan the statement anew for every value.
        .limit(sql<number>`${limit + 1} + 0`)
        .offset(offset)
    )
  }

  async function totalOf(query: Query, scope: Scope, person: Person): Promise<number> {
    if (!query.filter && scope === 'all') return counts.total()
    const counting = matching(query, scope, person).select(sql<number>`count(*)`.as('total'))
    return (await counting.executeTakeFirstOrThrow()).total
  }

  /** What a query asks for, of what somebody may reach. */
  function matching({ filter }: Query, scope: Scope, person: Person) {
    const reachable = db.selectFrom(table).where(ownership(scope, person))
    return filter ? reachable.where(conditionOf(filter, models, person)) : reachable
  }
}

const sortColumn = (index: number) => `sort__${index}`

const positionOf = (row: Stored, sort: SortKey[]): Position => ({
  values: sort.map((_, index) => row[sortColumn(index)] as SqlValue),
  id: row.id,
})

/** They were only selected to make a cursor from. */
function removeSortColumns(row: Stored, sort: SortKey[]): void {
  for (const index of sort.keys()) delete row[sortColumn(index)]
}
