import type { RefObject } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { say } from '../language/say.ts'
import { copyText, toTsv } from '../logic/clipboard.ts'
import type { Field } from '../logic/model.ts'
import type { FormatSettings } from '../logic/values.ts'
import { notify } from '../parts/notices.ts'
import type { CellCursor } from './cell-cursor.ts'
import type { Rows } from './rows.ts'

/** Cells that are copied at once. */
const MAX_CELLS = 100_000

/** The marked range as text for a spreadsheet; undefined if there is too much of it. */
export function copyRange(
  { first, last }: CellCursor['range'],
  rows: Rows,
  columns: Field[],
  formatSettings: FormatSettings,
): string | undefined {
  const fields = columns.slice(first.column, last.column + 1)
  const count = last.row - first.row + 1
  if (count * fields.length > MAX_CELLS) {
    notify(say('This is too much to copy: export it instead.'))
    return undefined
  }
  const lines = Array.from({ length: count }, (_, at) => rows.at(first.row + at))
  // Rows far away are loaded when they are looked at.
  if (lines.some((row) => !row)) notify(say('Some of these rows are not loaded yet: scroll over them first.'))
  return toTsv(
    lines.flatMap((row) => (row ? [fields.map((field) => copyText(field, row[field.name], formatSettings))] : [])),
  )
}

type OnClipboard = (event: ClipboardEvent) => void

/**
 * Calls back when something is copied or pasted while an element itself has the focus: browsers tell only the document.
 */
export function useClipboard(element: RefObject<HTMLElement | null>, onCopy: OnClipboard, onPaste: OnClipboard): void {
  const now = useRef({ copy: onCopy, paste: onPaste })
  now.current = { copy: onCopy, paste: onPaste }
  useEffect(() => {
    const control = new AbortController()
    for (const name of ['copy', 'paste'] as const)
      document.addEventListener(
        name,
        (event) => {
          if (document.activeElement === element.current) now.current[name](event)
        },
        control,
      )
    return () => control.abort()
  }, [])
}
