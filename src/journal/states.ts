import { PAGE_BYTES } from '../storage/size.ts'
import { type MaybePromise, type Row, type Storage, StorageFault } from '../storage/storage.ts'
import { ENTRY_COLUMNS, type Entry, OF_RECORD } from './entry.ts'
import { type Restores, readRestores } from './restores.ts'

/** Right after a change, and which version a record had then. */
export interface JournalPosition {
  change: number
  version: number
}

const NOWHERE: JournalPosition = { change: 0, version: -1 }
/** Rows that are read at a time on the way back. */
const AT_A_TIME = 100
/** A record may change between two looks: so often it is looked again. */
const MAX_LOOKS = 5

const NEWEST = `SELECT change, version ${OF_RECORD} ORDER BY change DESC LIMIT 1`
const WHOLE = `
  SELECT change ${OF_RECORD} AND change > ? AND (operation = 'delete' OR whole IS NOT NULL) ORDER BY change LIMIT 1`

/**
 * What a record was at some place: undone from what it is now, or from the next change that tells all of it. Undefined where
 * that is not kept. However large the changes are, one page of them is in memory at a time.
 */
export function createStateReader(storage: Storage, model: string, entries: (rows: Row[]) => Promise<Entry[]>) {
  return async function stateAfter(
    id: number,
    place: JournalPosition,
    current: () => MaybePromise<Row | undefined>,
    signal?: AbortSignal,
  ): Promise<Row | undefined> {
    const restores = await readRestores(storage)
    let { state, from } = await beginning(id, place, current, restores)
    let undone: Entry | undefined
    for await (const entry of backwards(id, from, place.change)) {
      if (signal?.aborted) throw new StorageFault('cancelled', 'Nobody waits for it any more.')
      // What happened while nothing was written down cannot be undone.
      if (undone && !follows(undone, entry, restores)) state = undefined
      state = before(entry, state)
      undone = entry
    }
    return !undone || follows(undone, place, restores) ? state : undefined
  }

  /** Where to begin: before the next change that tells all, or now. */
  async function beginning(
    id: number,
    { change }: JournalPosition,
    current: () => MaybePromise<Row | undefined>,
    { isBetween }: Restores,
  ): Promise<{ state?: Row | undefined; from: number }> {
    const whole = await storage.readOne({ sql: WHOLE, parameters: [model, id, change] })
    if (whole) return { from: whole.change as number }
    let state: Row | undefined
    let newest: JournalPosition
    let looks = 0
    const isOfOneMoment = () =>
      state?.version === newest.version ||
      (isBetween(newest.change, Number.POSITIVE_INFINITY) && Number(state?.version) > newest.version)
    do {
      state = await current()
      newest = ((await storage.readOne({ sql: NEWEST, parameters: [model, id] })) ?? NOWHERE) as JournalPosition
    } while (!isOfOneMoment() && ++looks < MAX_LOOKS)
    return { state: looks < MAX_LOOKS ? state : undefined, from: newest.change }
  }

  async function* backwards(id: number, from: number, until: number): AsyncGenerator<Entry> {
    const sql = `SELECT ${ENTRY_COLUMNS}, whole ${OF_RECORD}
      AND change <= ? AND change > ? ORDER BY change DESC LIMIT ${AT_A_TIME}`
    let last = from
    let isAll = false
    while (!isAll) {
      const { rows, isCut } = await storage.readUpTo({ sql, parameters: [model, id, last, until] }, PAGE_BYTES)
      yield* await entries(rows)
      isAll = !isCut && rows.length < AT_A_TIME
      last = Number(rows.at(-1)?.change) - 1
      // Others have their turn.
      await new Promise(setImmediate)
    }
  }
}

/** Whether nothing is missing between two changes. A delete has the version that it ended; a shell may leave it alone. */
function follows({ change, operation, version }: Entry, previous: JournalPosition, { isBetween }: Restores): boolean {
  if (version > previous.version && isBetween(previous.change, change)) return true
  if (operation === 'delete') return version === previous.version
  return version === previous.version + 1 || version === previous.version
}

/** A record before a change. */
function before(entry: Entry, after: Row | undefined): Row | undefined {
  if (entry.operation === 'delete') return asDeleted(entry)
  const state = entry.whole ?? after
  // Before a create there was nothing, or nothing that is known.
  return state && entry.operation !== 'create' ? undo(state, entry) : undefined
}

/** What a record was when it was deleted: all that was set. */
export function asDeleted({ values, version, isForgotten }: Entry): Row | undefined {
  if (isForgotten) return undefined
  return { version, ...Object.fromEntries([...values].map(([name, value]) => [name, value?.from])) }
}

function undo(record: Row, { values, isForgotten }: Entry): Row | undefined {
  if (isForgotten) return undefined
  const earlier = { ...record }
  // Undefined where that is not kept, of a field that was a secret then.
  for (const [name, value] of values) earlier[name] = value?.from
  return earlier
}

/** What a record became by a change. */
export function redo(record: Row, { values }: Entry): Row {
  const later = { ...record }
  for (const [name, value] of values) later[name] = value?.to
  return later
}
