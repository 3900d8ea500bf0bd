import { useEffect, useRef } from 'preact/hooks'
import { say } from '../language/say.ts'
import { displayName, type Model, type Row } from '../logic/model.ts'
import { notify } from '../parts/notices.ts'
import type { Rows } from './rows.ts'

/** What moves within this time of its editing has moved because of it. */
const MOVED_MS = 5000

interface MovedProperties {
  model: Model
  rows: Rows
  isInView(index: number): boolean
  onOpen(row: Row): void
}

/**
 * Tells where a record went whose cell was edited, if its place in the order has changed or a filter now leaves it out: it
 * would vanish without a word. Returns what to call with an edited row and its index.
 */
export function useMoved({ model, rows, isInView, onOpen }: MovedProperties): (row: Row, index: number) => void {
  const edited = useRef<{ row: Row; index: number; at: number } | undefined>(undefined)
  useEffect(() => {
    if (!edited.current || Date.now() - edited.current.at > MOVED_MS) return
    const { row, index } = edited.current
    const now = rows.indexOf(row.id)
    if (now === index || (now !== undefined && isInView(now))) return
    edited.current = undefined
    const text = say('{record} stands elsewhere in the table now, or is filtered out.', {
      record: displayName(row, model),
    })
    notify(text, { label: say('Open it'), run: () => onOpen(row) })
  }, [rows.round.value])
  return (row, index) => {
    edited.current = { row, index, at: Date.now() }
  }
}
