import { yieldToOthers } from '../lib/yielder.ts'
import { PAGE_BYTES } from '../storage/size.ts'
import { type MaybePromise, type Row, type Storage, StorageFault } from '../storage/storage.ts'
import { type BackupRestores, readBackupRestores } from './backup-restores.ts'
import { ENTRY_COLUMNS, type Entry, FROM_RECORD_CHANGES } from './entry.ts'

/** A position right after a change, and the record's version at that time. */
export interface JournalPosition {
  change: number
  version: number
}

const NOWHERE: JournalPosition = { change: 0, version: -1 }
/** Rows per page when going back through the journal. */
const CHANGES_PER_PORTION = 100
/** The record and its newest change are read separately. If a write came in between, both are read again, so often. */
const MAX_ATTEMPTS = 5

const NEWEST = `SELECT change, version ${FROM_RECORD_CHANGES} ORDER BY change DESC LIMIT 1`
const WHOLE = `
  SELECT change ${FROM_RECORD_CHANGES} AND change > ? AND (operation = 'delete' OR whole IS NOT NULL) ORDER BY change LIMIT 1`

/**
 * Rebuilds a record as it was at a position. Undoes changes, starting from the current record or from the next change
 * that stores the whole record. Undefined if the journal lacks changes. Only one page of changes is in memory at once.
 */
export function createStateReader(storage: Storage, model: string, decodeEntries: (rows: Row[]) => Promise<Entry[]>) {
  return async function rebuildState(
    id: number,
    place: JournalPosition,
    current: () => MaybePromise<Row | undefined>,
    signal?: AbortSignal,
  ): Promise<Row | undefined> {
    const restores = await readBackupRestores(storage)
    let { state, from } = await findStart(id, place, current, restores)
    let undone: Entry | undefined
    for await (const entry of readBackwards(id, from, place.change)) {
      if (signal?.aborted) throw new StorageFault('cancelled', 'Nobody waits for it any more.')
      // Changes made while no journal was kept cannot be undone.
      if (undone && !follows(undone, entry, restores)) state = undefined
      state = stateBeforeEntry(entry, state)
      undone = entry
    }
    return !undone || follows(undone, place, restores) ? state : undefined
  }

  /** The starting point: the next change that stores the whole record, or the current record. */
  async function findStart(
    id: number,
    { change }: JournalPosition,
    current: () => MaybePromise<Row | undefined>,
    { isBetween }: BackupRestores,
  ): Promise<{ state?: Row | undefined; from: number }> {
    const whole = await storage.readOne({ sql: WHOLE, parameters: [model, id, change] })
    if (whole) return { from: whole.change as number }
    let state: Row | undefined
    let newest: JournalPosition
    let attempts = 0
    const isConsistent = () =>
      state?.version === newest.version ||
      (isBetween(newest.change, Number.POSITIVE_INFINITY) && Number(state?.version) > newest.version)
    do {
      state = await current()
      newest = ((await storage.readOne({ sql: NEWEST, parameters: [model, id] })) ?? NOWHERE) as JournalPosition
    } while (!isConsistent() && ++attempts < MAX_ATTEMPTS)
    return { state: attempts < MAX_ATTEMPTS ? state : undefined, from: newest.change }
  }

  async function* readBackwards(id: number, from: number, until: number): AsyncGenerator<Entry> {
    const sql = `SELECT ${ENTRY_COLUMNS}, whole ${FROM_RECORD_CHANGES}
      AND change <= ? AND change > ? ORDER BY change DESC LIMIT ${CHANGES_PER_PORTION}`
    let last = from
    let isAll = false
    while (!isAll) {
      const { rows, isTruncated } = await storage.readUpTo({ sql, parameters: [model, id, last, until] }, PAGE_BYTES)
      yield* await decodeEntries(rows)
      isAll = !isTruncated && rows.length < CHANGES_PER_PORTION
      last = Number(rows.at(-1)?.change) - 1
      await yieldToOthers()
    }
  }
}

/**
 * Whether no change is missing between two. A delete is stored with the version that it deleted; a change in a database
 * shell may leave the version unchanged.
 */
function follows(
  { change, operation, version }: Entry,
  previous: JournalPosition,
  { isBetween }: BackupRestores,
): boolean {
  if (version > previous.version && isBetween(previous.change, change)) return true
  if (operation === 'delete') return version === previous.version
  return version === previous.version + 1 || version === previous.version
}

/** The record before a change. */
function stateBeforeEntry(entry: Entry, after: Row | undefined): Row | undefined {
  if (entry.operation === 'delete') return stateWhenDeleted(entry)
  const state = entry.whole ?? after
  // Before a create the record did not exist, or its state is unknown.
  return state && entry.operation !== 'create' ? revertEntry(state, entry) : undefined
}

/** The record when it was deleted: all fields that were set. */
export function stateWhenDeleted({ values, version, isForgotten }: Entry): Row | undefined {
  if (isForgotten) return undefined
  return { version, ...Object.fromEntries([...values].map(([name, value]) => [name, value?.from])) }
}

/** The record before a change that is not a delete. */
export function revertEntry(record: Row, { values, isForgotten }: Entry): Row | undefined {
  if (isForgotten) return undefined
  const earlier = { ...record }
  // Undefined for a field that was a secret then, because the journal has no value.
  for (const [name, value] of values) earlier[name] = value?.from
  return earlier
}

/** The record after a change. */
export function applyEntry(record: Row, { values }: Entry): Row {
  const later = { ...record }
  for (const [name, value] of values) later[name] = value?.to
  return later
}
