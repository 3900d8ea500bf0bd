import { sql } from 'kysely'
import { type ChangeRow, ENTRY_COLUMNS } from '../../journal/entry.ts'
import type { Journal } from '../../journal/journal.ts'
import { stateWhenDeleted } from '../../journal/rebuild-state.ts'
import { secondsUntil } from '../../lib/deadline.ts'
import type { User } from '../../model/access.ts'
import { type Model, tableName } from '../../model/model.ts'
import { PAGE_BYTES } from '../../storage/size.ts'
import type { Row } from '../../storage/storage.ts'
import { ALWAYS, all, is, NEVER } from '../../tables/condition.ts'
import type { Caller } from '../caller.ts'
import type { RecordsContext } from '../context.ts'
import { createHistoryPage, type HistoryPage } from './history.ts'

/** Rows between two checks of `dialect.abortCheck`. */
const ROWS_PER_ABORT_CHECK = 64
/** Deletions that are read at a time, where each has to be compared with a rule. */
const CHANGES_PER_PORTION = 100

type Search = (query: ReturnType<typeof sql>) => Promise<{ rows: Row[]; isTruncated: boolean }>

interface Deletions {
  rows: Row[]
  hasMore: boolean
}

/** Lists the deleted records of a model that can be restored, the latest deletion first. */
export function createDeletedReader(
  context: RecordsContext,
  model: Model,
  journal: Journal,
  couldRead: (deletions: ChangeRow[], user: User) => Promise<boolean[]>,
) {
  const { storage, access, findSeconds } = context

  return async function listDeleted(
    limit: number,
    before: number | undefined,
    caller: Caller,
  ): Promise<HistoryPage<Row>> {
    const { username, signal } = caller
    const deadline = performance.now() + findSeconds * 1000
    const search: Search = async (query) => {
      const seconds = secondsUntil(deadline)
      return storage.search(query.compile(storage.db), { username, signal, seconds, bytes: PAGE_BYTES, shapes: {} })
    }
    const isByRule = access.reachFor(model, 'read', caller).scope === 'some'
    const read = isByRule ? readCompared : readOwned
    const { rows: kept, hasMore } = await read(search, caller, limit, before)
    const data: Row[] = []
    for (const [index, entry] of (await journal.decodeEntries(kept)).entries()) {
      const { version, by, at } = entry
      const record = await journal.toRecord(stateWhenDeleted(entry) as Row, kept[index]?.id as number, version)
      const listed = Object.fromEntries(model.list.map((name) => [name, record[name]]))
      data.push({ ...listed, id: record.id, version, by, at })
    }
    const last = kept.at(-1)?.change as number | undefined
    const count = async () => {
      if (isByRule) return (await readCompared(search, caller, Number.POSITIVE_INFINITY)).rows.length
      return (await search(select(sql`count(*) AS "total"`, caller))).rows[0]?.total as number
    }
    return createHistoryPage(data, { limit, before, hasMore, last }, count)
  }

  /**
   * Reads a page of deletions where no rule of rows counts: the database itself decides which of them the user sees.
   */
  async function readOwned(search: Search, caller: Caller, limit: number, before?: number): Promise<Deletions> {
    const page = select(sql.raw(ENTRY_COLUMNS), caller, before)
    const { rows, isTruncated } = await search(sql`${page} ORDER BY "change" DESC LIMIT ${limit + 1}`)
    return { rows: rows.slice(0, limit), hasMore: isTruncated || rows.length > limit }
  }

  /** A page of deletions where rules of rows look at what the records were: all are read, until the page is full. */
  async function readCompared(search: Search, caller: Caller, limit: number, before?: number): Promise<Deletions> {
    const visibleRows: Row[] = []
    let from = before
    for (;;) {
      const page = select(sql.raw(ENTRY_COLUMNS), caller, from)
      const { rows, isTruncated } = await search(sql`${page} ORDER BY "change" DESC LIMIT ${CHANGES_PER_PORTION}`)
      const within = await couldRead(rows as unknown as ChangeRow[], caller)
      visibleRows.push(...rows.filter((_, index) => within[index]))
      if (visibleRows.length > limit) return { rows: visibleRows.slice(0, limit), hasMore: true }
      if (!isTruncated && rows.length < CHANGES_PER_PORTION) return { rows: visibleRows, hasMore: false }
      from = rows.at(-1)?.change as number
    }
  }

  /** Selects the last `delete` change of each record that has no later change, no row, and has not been forgotten. */
  function select(columns: ReturnType<typeof sql>, caller: Caller, before = Number.MAX_SAFE_INTEGER) {
    const { scope } = access.reachFor(model, 'read', caller)
    // The journal has the owner of each record.
    const isOwn = is`"createdBy" = ${caller.username}`
    const isSeen = { all: ALWAYS, some: ALWAYS, own: isOwn, none: NEVER }[scope]
    const isLast = is`NOT EXISTS (SELECT 1 FROM dossier_changes AS later WHERE later.model = ${model.name}
      AND later.id = gone.id AND later.change > gone.change AND later.operation <> 'forget')`
    const isAway = is`NOT EXISTS (SELECT 1 FROM ${sql.table(tableName(model))} AS record WHERE record.id = gone.id)`
    const isKept = is`"model" = ${model.name} AND "operation" = 'delete' AND "change" < ${before} AND "was" IS NOT NULL`
    const abortCheck = is`${storage.dialect.abortCheck(ROWS_PER_ABORT_CHECK)}`
    const conditions = all([isSeen, isKept, abortCheck, isLast, isAway])
    return sql<Row>`SELECT ${columns} FROM dossier_changes AS gone WHERE ${conditions}`
  }
}
