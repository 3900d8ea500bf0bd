import type { Model } from '../model/model.ts'
import { PAGE_BYTES } from '../storage/size.ts'
import type { Row, Seeker, Storage } from '../storage/storage.ts'
import { isAudit } from '../tables/journal.ts'
import { type ChangeRow, type Entry, entriesOf, type Values } from './entry.ts'

/** How many changes a conflict or a merge looks back at most: both are one bounded look. */
export const MOST_SINCE = 250
/** Rows that are read at a time on the way to a version. */
const AT_A_TIME = 100

const COLUMNS = 'change, id, version, operation, "by", at, createdBy, fields, was, became'
const OF_RECORD = 'FROM dossier_changes WHERE model = ? AND id = ?'

const POSITION = `
  SELECT max(iif(version = ? AND operation <> 'delete', change, NULL)) AS made,
    min(iif(operation = 'delete', iif(version = ?, change, NULL), iif(operation = 'create', NULL, change))) AS ended
  ${OF_RECORD} AND version IN (?, ? + 1)`

/** Who waits for what may have to look at all changes of a record. */
export type Waiting = Omit<Seeker, 'bytes' | 'shapes'>

export interface HistoryPage {
  entries: Entry[]
  hasMore: boolean
}

/** What has happened to the records of one model. */
export function journalOf(storage: Storage, model: Model) {
  const entries = entriesOf(storage, model)
  const read = (sql: string, parameters: unknown[]) => storage.readUpTo({ sql, parameters }, PAGE_BYTES)

  /** The newest first, before a change if one is named; a page that would be too large ends earlier. */
  function page(id: number, limit: number, before = Number.MAX_SAFE_INTEGER): HistoryPage {
    const sql = `SELECT ${COLUMNS} ${OF_RECORD} AND change < ? ORDER BY change DESC LIMIT ?`
    const { rows, isCut } = read(sql, [model.name, id, before, limit + 1])
    return { entries: entries(rows.slice(0, limit)), hasMore: isCut || rows.length > limit }
  }

  async function total(id: number, waiting: Waiting): Promise<number> {
    const [row] = await look(`SELECT count(*) AS total ${OF_RECORD}`, [model.name, id], waiting)
    return row?.total as number
  }

  /** The last change of a record, if that was its delete. */
  function deletion(id: number): ChangeRow | undefined {
    const last = storage.readOne({
      sql: `SELECT ${COLUMNS} ${OF_RECORD} AND operation <> 'forget' ORDER BY change DESC LIMIT 1`,
      parameters: [model.name, id],
    }) as ChangeRow | undefined
    return last?.operation === 'delete' ? last : undefined
  }

  /**
   * A record as it was at a version: undone from what it is now, or from the next place where it was written down as a
   * whole. Undefined if that is not kept.
   */
  async function stateAt(
    id: number,
    version: number,
    current: () => Row | undefined,
    waiting: Waiting,
  ): Promise<Row | undefined> {
    const present = current()
    if (present?.version === version) return present
    const position = await positionOf(id, version, waiting)
    if (position === undefined) return undefined
    const sql = `SELECT ${COLUMNS}, whole ${OF_RECORD} AND change > ? ORDER BY change LIMIT ?`
    const undone: Entry[] = []
    let last = version
    for (let change = position; ; ) {
      const { rows, isCut } = read(sql, [model.name, id, change, AT_A_TIME])
      for (const entry of entries(rows)) {
        if (entry.operation === 'delete') return entry.version === last ? undo(asBefore(entry), undone) : undefined
        // What happened while nothing was written down cannot be undone.
        if (entry.operation === 'create' || entry.version < last || entry.version > last + 1) return undefined
        undone.push(entry)
        last = entry.version
        if (entry.whole) return undo(entry.whole, undone)
      }
      const now = !isCut && rows.length < AT_A_TIME ? current() : undefined
      if (now?.version === last) return undo(now, undone)
      // It may have been changed between two looks; else something is missing.
      if (rows.length === 0) return undefined
      change = rows.at(-1)?.change as number
      // Others have their turn.
      await new Promise(setImmediate)
    }
  }

  /** The number of the change that made a version, or, where that is not kept, one before that which ended it. */
  async function positionOf(id: number, version: number, waiting: Waiting): Promise<number | undefined> {
    // The one statement here that may have to go through all changes of a record.
    const [row] = await look(POSITION, [version, version, model.name, id, version, version], waiting)
    const { made, ended } = row as { made: number | null; ended: number | null }
    return made ?? (ended === null ? undefined : ended - 1)
  }

  /**
   * What has been done to a record since a version, the newest first; undefined if that is not kept, or further back than
   * one look goes.
   */
  function since(id: number, version: number, now: number): Entry[] | undefined {
    const sql = `SELECT ${COLUMNS} ${OF_RECORD} ORDER BY change DESC LIMIT ?`
    const { rows } = read(sql, [model.name, id, MOST_SINCE])
    // A delete has the version that it ended.
    const isNewer = (entry: Entry) =>
      entry.version > version || (entry.version === version && entry.operation === 'delete')
    const newer = entries(rows).filter(isNewer)
    const versions = new Set(newer.map((entry) => entry.version))
    versions.delete(version)
    return versions.size === now - version ? newer : undefined
  }

  const look = async (sql: string, parameters: unknown[], waiting: Waiting): Promise<Row[]> =>
    (await storage.search({ sql, parameters }, { ...waiting, bytes: PAGE_BYTES, shapes: {} })).rows

  /** What changed, but for what the service writes into every record. */
  const shownValues = ({ values }: Entry): [string, Values][] => [...values].filter(([name]) => !isAudit(model, name))

  return { page, total, deletion, entries, stateAt, since, shownValues }
}

export type Journal = ReturnType<typeof journalOf>

/** What a record was when it was deleted; nothing that was not set is written down. */
export function asBefore({ values, version, isForgotten }: Entry): Row | undefined {
  if (isForgotten) return undefined
  return { version, ...Object.fromEntries([...values].map(([name, value]) => [name, value?.from])) }
}

function undo(record: Row | undefined, entries: Entry[]): Row | undefined {
  if (!record || entries.some(({ isForgotten }) => isForgotten)) return undefined
  const earlier = { ...record }
  for (const { values } of entries.toReversed())
    for (const [name, value] of values) if (value) earlier[name] = value.from
  return earlier
}
