import { isAuditField, type Model, visibleFields } from '../model/model.ts'
import { PAGE_BYTES } from '../storage/size.ts'
import type { MaybePromise, Row, SearchOptions, Storage } from '../storage/storage.ts'
import { createComputer } from '../tables/computed.ts'
import {
  type ChangeRow,
  createEntryDecoder,
  ENTRY_COLUMNS,
  type Entry,
  type FieldChange,
  FROM_RECORD_CHANGES,
} from './entry.ts'
import { applyEntry, createStateReader } from './rebuild-state.ts'

/** A conflict or a merge examines at most this many changes, so that it is a bounded read. */
export const MAX_SINCE = 250

const POSITION = `
  SELECT max(CASE WHEN version = ? AND operation <> 'delete' THEN change END) AS made,
    min(CASE WHEN operation = 'delete' AND version <> ? THEN NULL WHEN operation <> 'create' THEN change END) AS ended
  ${FROM_RECORD_CHANGES} AND version IN (?, CAST(? AS BIGINT) + 1)`

/** The change that made a version, if it is among the last MAX_SINCE; it usually is. */
const RECENT_CHANGE = `
  SELECT change FROM (SELECT change, version, operation ${FROM_RECORD_CHANGES} ORDER BY change DESC LIMIT ${MAX_SINCE}) AS last
  WHERE version = ? AND operation <> 'delete' ORDER BY change DESC LIMIT 1`

/** User, time limit and abort signal of a search that may read all changes of a record. */
type LookupOptions = Omit<SearchOptions, 'bytes' | 'shapes'>

interface EntryPage {
  entries: Entry[]
  hasMore: boolean
}

/** The journal of one model's records. */
export function createJournal(storage: Storage, model: Model) {
  const decodeEntries = createEntryDecoder(storage, model)
  const rebuildState = createStateReader(storage, model.name, decodeEntries)
  const read = (sql: string, parameters: unknown[]) => storage.readUpTo({ sql, parameters }, PAGE_BYTES)

  /** Changes of a record, newest first, before the change `before`. A page ends early if it exceeds PAGE_BYTES. */
  async function readPage(id: number, limit: number, before = Number.MAX_SAFE_INTEGER): Promise<EntryPage> {
    const sql = `SELECT ${ENTRY_COLUMNS} ${FROM_RECORD_CHANGES} AND change < ? ORDER BY change DESC LIMIT ?`
    const { rows, isTruncated } = await read(sql, [model.name, id, before, limit + 1])
    return { entries: await decodeEntries(rows.slice(0, limit)), hasMore: isTruncated || rows.length > limit }
  }

  async function countEntries(id: number, options: LookupOptions): Promise<number> {
    const [row] = await readChanges(`SELECT count(*) AS total ${FROM_RECORD_CHANGES}`, [model.name, id], options)
    return row?.total as number
  }

  /** The last change of a record, if it is a delete. */
  async function findDeletion(id: number): Promise<ChangeRow | undefined> {
    const last = (await storage.readOne({
      sql: `SELECT ${ENTRY_COLUMNS} ${FROM_RECORD_CHANGES} AND operation <> 'forget' ORDER BY change DESC LIMIT 1`,
      parameters: [model.name, id],
    })) as ChangeRow | undefined
    return last?.operation === 'delete' ? last : undefined
  }

  /**
   * A record as it was at a version. Later changes are undone, starting from the current record or from the next change
   * that stores the whole record. Undefined if the journal does not reach back.
   */
  async function stateAtVersion(
    id: number,
    version: number,
    current: () => MaybePromise<Row | undefined>,
    options: LookupOptions,
  ): Promise<Row | undefined> {
    const present = await current()
    if (present?.version === version) return present
    const position = await findPosition(id, version, options)
    if (position === undefined) return undefined
    return rebuildState(id, { change: position, version }, current, options.signal)
  }

  /**
   * A record as it was after a change. Starts from `known` if that is the state right before it; otherwise undoes the
   * later changes.
   */
  async function stateAfterChange(
    id: number,
    change: number,
    version: number,
    known: KnownState | undefined,
    current: () => MaybePromise<Row | undefined>,
  ): Promise<Row | undefined> {
    const sql = `SELECT ${ENTRY_COLUMNS} ${FROM_RECORD_CHANGES} AND change <= ? ORDER BY change DESC LIMIT 2`
    const { rows } = await read(sql, [model.name, id, change])
    const [entry, before] = (await decodeEntries(rows)) as [Entry, Entry | undefined]
    const isNext = known && before && known.change === before.change && known.version === version - 1
    const start = entry.operation === 'create' ? {} : isNext ? known.state : undefined
    return start && !entry.isForgotten ? applyEntry(start, entry) : rebuildState(id, { change, version }, current)
  }

  /** The change that made a version; if the journal lacks it, the number before the change that ended the version. */
  async function findPosition(id: number, version: number, options: LookupOptions): Promise<number | undefined> {
    const lately = await storage.readOne({ sql: RECENT_CHANGE, parameters: [model.name, id, version] })
    if (lately) return lately.change as number
    // May read all changes of a record, so it is a search.
    const [row] = await readChanges(POSITION, [version, version, model.name, id, version, version], options)
    const { made, ended } = row as { made: number | null; ended: number | null }
    return made ?? (ended === null ? undefined : ended - 1)
  }

  /**
   * Changes of a record since a version, newest first. Undefined if the journal does not have them all, or if there are
   * more than a bounded read returns.
   */
  async function entriesSince(id: number, version: number, now: number): Promise<Entry[] | undefined> {
    // This version never existed.
    if (version > now) return undefined
    const sql = `SELECT ${ENTRY_COLUMNS} ${FROM_RECORD_CHANGES} ORDER BY change DESC LIMIT ?`
    // Reads more rows than versions: a change in a database shell may leave the version unchanged.
    const { rows } = await read(sql, [model.name, id, Math.min(MAX_SINCE, 2 * (now - version) + 10)])
    // A delete is stored with the version that it deleted.
    const isNewer = (entry: Entry) =>
      entry.version > version || (entry.version === version && entry.operation === 'delete')
    const newer = (await decodeEntries(rows)).filter(isNewer)
    const versions = new Set(newer.map((entry) => entry.version))
    versions.delete(version)
    return versions.size === now - version ? newer : undefined
  }

  const readChanges = async (sql: string, parameters: unknown[], options: LookupOptions): Promise<Row[]> =>
    (await storage.search({ sql, parameters }, { ...options, bytes: PAGE_BYTES, shapes: {} })).rows

  /** The changed values without the audit fields. */
  const shownValues = ({ values }: Entry): [string, FieldChange][] =>
    [...values].filter(([name]) => !isAuditField(model, name) && isNamed(name))

  /** Whether a field may be named: in a model with fields that the user may not know, former fields may not. */
  const isNamed = (name: string) => !model.unrestricted || model.fields.some((field) => field.name === name)

  const computed = createComputer(storage, model)
  const visibleNames = visibleFields(model).map(({ name }) => name)

  /** Makes a record of a state: today's visible fields, with computed values. */
  async function toRecord(state: Row, id: number, version: number): Promise<Row & { id: number; version: number }> {
    const stored = Object.fromEntries(visibleNames.map((name) => [name, state[name] ?? null]))
    return { id, version, ...(await computed(stored)) }
  }

  return {
    readPage,
    countEntries,
    findDeletion,
    decodeEntries,
    stateAtVersion,
    stateAfterChange,
    entriesSince,
    shownValues,
    toRecord,
  }
}

/** The state of a record after a change. */
export interface KnownState {
  change: number
  version: number
  state: Row
}

export type Journal = ReturnType<typeof createJournal>
