import { sql } from 'kysely'
import { type Model, tableName } from '../../model/model.ts'
import type { Position } from '../../requests/cursor.ts'
import type { Query } from '../../requests/query.ts'
import { PAGE_BYTES, rowBytes } from '../../storage/size.ts'
import type { Row, SearchResult, Storage } from '../../storage/storage.ts'
import type { createCounter } from '../../tables/counts.ts'
import { recordRead, requireCurrentShape } from '../../tables/shape.ts'
import { createStatementCache, placeholder } from '../cached-statements.ts'
import { selectedColumns } from './expand.ts'

interface Start {
  from: number
  skip: number
  count: number
}

/** Bytes above which a row is large; and rows that one `read` returns until a large row has been seen. */
const LARGE_ROW_BYTES = 16_384
const RECORDS_PER_READ = 64

/** Pages of all records in id order, with one compiled statement. The block counts locate the start of an offset. */
export function createPlainPages(storage: Storage, model: Model, counts: ReturnType<typeof createCounter>) {
  const cachedStatement = createStatementCache<Start>((statement) => recordRead(storage.dialect, model, statement))
  /**
   * Set by the first large row; from then on `readUpTo` ends a read as soon as the page is full. This affects only
   * speed: every row is measured in any case.
   */
  let hasLarge = false

  return async (query: Query, position: Position | undefined): Promise<SearchResult> => {
    requireCurrentShape(storage, model)
    const wanted = query.limit + 1
    const rows: Row[] = []
    let left = PAGE_BYTES
    let start = await findStart(query, position)
    let isLast = false
    while (!isLast) {
      const count = hasLarge ? wanted - rows.length : Math.min(RECORDS_PER_READ, wanted - rows.length)
      const statement = pageStatement(query, { ...start, count })
      const some = hasLarge
        ? await storage.readUpTo(statement, left)
        : { rows: await storage.read(statement), isTruncated: false }
      for (const row of some.rows) {
        const size = rowBytes(row)
        hasLarge ||= size > LARGE_ROW_BYTES
        left -= size
        if (left < 0 && rows.length > 0) return { rows, isTruncated: true }
        rows.push(row)
      }
      if (some.isTruncated) return { rows, isTruncated: true }
      isLast = some.rows.length < count || rows.length === wanted
      start = after(rows)
    }
    return { rows, isTruncated: false }
  }

  async function findStart({ offset }: Query, position: Position | undefined): Promise<{ from: number; skip: number }> {
    if (position) return { from: position.id + 1, skip: 0 }
    return offset > 0 ? counts.locate(offset) : { from: 0, skip: 0 }
  }

  function pageStatement(query: Query, start: Start) {
    return cachedStatement(`${query.fields ?? '*'} ${query.expand}`, start, () =>
      storage.db
        .selectFrom(tableName(model))
        .select(selectedColumns(model, query))
        .where(
          'id',
          '>=',
          placeholder<Start>(({ from }) => from),
        )
        .orderBy('id')
        // `+ 0`, because SQLite would re-plan the statement for each new value of a bare LIMIT parameter.
        .limit(sql<number>`${placeholder<Start>(({ count }) => count)} + 0`)
        .offset(placeholder<Start>(({ skip }) => skip)),
    )
  }
}

const after = (rows: Row[]) => ({ from: (rows.at(-1)?.id as number) + 1, skip: 0 })
