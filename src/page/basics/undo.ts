import { say } from '../language/say.ts'
import { Unreachable } from './api.ts'
import { undoLastOfRecord } from './batches.ts'
import { restore } from './models.ts'

interface Written {
  id: number
  /** after the change */
  version: number
}

/** A change that this window made, to be undone: one record, or several that were written together. */
interface UndoableChange {
  model: string
  rows: Written[]
  /** what a single record is called */
  name?: string | undefined
  /** whether records of other models were written with it */
  hasOthers?: boolean | undefined
}

/** How much an undo has undone. */
export interface UndoResult {
  count: number
  name?: string | undefined
}

/** More are not kept: nobody remembers them. */
const MAX_KEPT = 100

const made: UndoableChange[] = []
/** By record: a version that an undo has made, and the earlier one that it is like. */
const undone = new Map<string, { version: number; like: number }>()

export function rememberChange(
  model: string,
  rows: Written[],
  about: Pick<UndoableChange, 'name' | 'hasOthers'> = {},
): void {
  made.push({ model, rows, ...about })
  made.splice(0, made.length - MAX_KEPT)
  for (const { id } of rows) undone.delete(`${model} ${id}`)
}

/** Undoes the last change of this window, with all that was changed with it. */
export async function undoLastOfWindow(): Promise<UndoResult> {
  const last = made.pop()
  if (!last) return { count: 0 }
  try {
    return { count: await undoChange(last), name: last.name }
  } catch (error) {
    // It can still be undone when the service is there again.
    if (error instanceof Unreachable) made.push(last)
    throw error
  }
}

async function undoChange({ model, rows, hasOthers }: UndoableChange): Promise<number> {
  const keyOf = ({ id }: Written) => `${model} ${id}`
  const isLike = (row: Written) => undone.get(keyOf(row))?.like === row.version
  const [first] = rows as [Written]
  if (!rows.some(isLike)) {
    const records = await undoLastOfRecord(model, first.id, first.version, false)
    for (const row of rows) undone.set(keyOf(row), { version: row.version + 1, like: row.version - 1 })
    return records.length
  }
  // The versions of the other records, which were written with it, are not known here.
  if (hasOthers) throw new Error(say('It was saved together with other records: take it back in its history.'))
  // An undo is a change as well: to go further back, the version before is brought back on top of it.
  for (const row of rows) {
    const version = isLike(row) ? (undone.get(keyOf(row)) as { version: number }).version : row.version
    const now = await restore(model, row.id, { version, to: row.version - 1 })
    undone.set(keyOf(row), { version: now.version, like: row.version - 1 })
  }
  return rows.length
}
