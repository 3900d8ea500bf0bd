import { useEffect, useRef } from 'preact/hooks'
import { say } from '../language/say.ts'
import { displayName, type Model, type Row } from '../logic/model.ts'
import { plural } from '../logic/values.ts'
import { notify } from '../parts/notices.ts'
import type { CellWrites } from './cell-writes.ts'
import type { Rows } from './rows.ts'

/** A record that moves within this time of its saving has moved because of it. */
const MOVED_MS = 5000

interface MovedProperties {
  model: Model
  rows: Rows
  writes: CellWrites
  isInView(index: number): boolean
  onOpen(row: Row): void
}

/**
 * Tells where records went whose cells were edited, if their place in the order has changed or a filter now leaves them
 * out: they would vanish without a word. Returns what to call with an edited record and its index.
 */
export function useMoved({ model, rows, writes, isInView, onOpen }: MovedProperties): (id: number, at: number) => void {
  const places = useRef(new Map<number, number>())
  const saved = useRef(new Map<number, { row: Row; index: number; at: number }>())
  const look = () => {
    const since = Date.now() - MOVED_MS
    const gone: Row[] = []
    for (const [id, { row, index, at }] of saved.current) {
      const now = rows.indexOf(id)
      const isGone = now !== index && (now === undefined || !isInView(now))
      if (isGone && at > since) gone.push(row)
      if (isGone || at <= since) saved.current.delete(id)
    }
    const [first] = gone
    if (first) tell(first, gone.length)
  }
  const tell = (row: Row, count: number) => {
    if (count > 1)
      return notify(
        plural(
          count,
          '{count} record stands elsewhere in the table now, or is filtered out.',
          '{count} records stand elsewhere in the table now, or are filtered out.',
        ),
      )
    const record = displayName(row, model)
    notify(say('{record} stands elsewhere in the table now, or is filtered out.', { record }), {
      label: say('Open it'),
      run: () => onOpen(row),
    })
  }
  useEffect(look, [rows.revision.value])
  // The rows may have been loaded again before the answer to the write came.
  writes.onSaved = (row) => {
    const index = places.current.get(row.id)
    places.current.delete(row.id)
    if (index === undefined) return
    saved.current.set(row.id, { row, index, at: Date.now() })
    look()
  }
  return (id, at) => places.current.set(id, at)
}
