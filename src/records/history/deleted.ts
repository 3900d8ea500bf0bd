import { sql } from 'kysely'
import { ENTRY_COLUMNS } from '../../journal/entry.ts'
import type { Journal } from '../../journal/journal.ts'
import { asDeleted } from '../../journal/states.ts'
import { reachFor } from '../../model/access.ts'
import { type Model, tableName } from '../../model/model.ts'
import { PAGE_BYTES } from '../../storage/size.ts'
import type { Row } from '../../storage/storage.ts'
import { withReach } from '../../tables/access-filter.ts'
import { is } from '../../tables/condition.ts'
import type { Caller } from '../caller.ts'
import type { RecordsContext } from '../context.ts'
import { createHistoryPage, type HistoryPage } from './history.ts'

const ROWS_BETWEEN = 64

/** Lists the deleted records of a model that can be restored, the latest deletion first. */
export function createDeletedReader(context: RecordsContext, model: Model, journal: Journal) {
  const { storage, findSeconds } = context

  return async function deleted(limit: number, before: number | undefined, caller: Caller): Promise<HistoryPage<Row>> {
    const { username, signal } = caller
    const ends = performance.now() + findSeconds * 1000
    const search = async (query: ReturnType<typeof select>) => {
      const seconds = Math.max(0.001, (ends - performance.now()) / 1000)
      return storage.search(query.compile(storage.db), { username, signal, seconds, bytes: PAGE_BYTES, shapes: {} })
    }
    const page = select(sql.raw(ENTRY_COLUMNS), caller, before)
    const { rows, isTruncated } = await search(sql`${page} ORDER BY "change" DESC LIMIT ${limit + 1}`)
    const kept = rows.slice(0, limit)
    const data: Row[] = []
    for (const [index, entry] of (await journal.entries(kept)).entries()) {
      const { version, by, at } = entry
      const record = await journal.toRecord(asDeleted(entry) as Row, kept[index]?.id as number, version)
      const listed = Object.fromEntries(model.list.map((name) => [name, record[name]]))
      data.push({ ...listed, id: record.id, version, by, at })
    }
    const hasMore = isTruncated || rows.length > limit
    const last = kept.at(-1)?.change as number | undefined
    const count = async () => (await search(select(sql`count(*) AS "total"`, caller))).rows[0]?.total as number
    return createHistoryPage(data, { limit, after: before, hasMore, last }, count)
  }

  /** Selects the last `delete` change of each record that has no later change, no row, and has not been forgotten. */
  function select(columns: ReturnType<typeof sql>, caller: Caller, before = Number.MAX_SAFE_INTEGER) {
    const reach = reachFor(model, 'read', caller)
    const isLast = is`NOT EXISTS (SELECT 1 FROM dossier_changes AS later WHERE later.model = ${model.name}
      AND later.id = gone.id AND later.change > gone.change AND later.operation <> 'forget')`
    const isAway = is`NOT EXISTS (SELECT 1 FROM ${sql.table(tableName(model))} AS record WHERE record.id = gone.id)`
    const isKept = is`"model" = ${model.name} AND "operation" = 'delete' AND "change" < ${before} AND "was" IS NOT NULL`
    const alive = is`${storage.dialect.alive(ROWS_BETWEEN)}`
    const where = withReach(reach, reach.username, isKept, alive, isLast, isAway)
    return sql<Row>`SELECT ${columns} FROM dossier_changes AS gone WHERE ${where}`
  }
}
