import { useSignal } from '@preact/signals'
import { h } from 'preact'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { formatSettings } from '../basics/format-settings.ts'
import { html } from '../basics/html.ts'
import { say } from '../language/say.ts'
import { FOOT_PARAMETER, WORDS_PARAMETER } from '../logic/filters.ts'
import { searchWords } from '../logic/highlight.ts'
import { canSearch, type Field, type Model, type Row } from '../logic/model.ts'
import { revealing, rowsInView, scrollHeight } from '../logic/scroll.ts'
import { tableTemplate } from '../logic/widths.ts'
import { lazy } from '../parts/lazy.ts'
import { isNarrow } from '../parts/narrow.ts'
import { notifyError } from '../parts/notices.ts'
import { CellCursor, type CellPosition, isCellEditable } from './cell-cursor.ts'
import { cellWritesOf } from './cell-writes.ts'
import { copyRange, useClipboard } from './copying.ts'
import { titleCutCells } from './cut-text.ts'
import { Head } from './head.ts'
import type { Rows } from './rows.ts'
import type { Selection } from './selection.ts'
import { TableRow } from './table-row.ts'
import { useMoved } from './use-moved.ts'
import { useScrolling } from './use-scrolling.ts'
import { useWidths } from './use-widths.ts'

interface TableProperties {
  model: Model
  columns: Field[]
  query: URLSearchParams
  rows: Rows
  selection: Selection
  /** ids of records that have just been changed */
  fresh: ReadonlySet<number>
  /** id of the record that is shown beside the table */
  opened: number | undefined
  /** Opens a record: beside the table, or on a page of its own. */
  onOpen(row: Row, isWhole: boolean): void
}

const LazyTableFooter = lazy(async () => (await import('./table-footer.ts')).TableFooter)
const Pasting = lazy(async () => (await import('./paste.ts')).Pasting)

const ROW = 37
/** Height of a row on a phone, where it is a card of two lines, and of each further line. */
const CARD = 66
const CARD_LINE = 24
const cardHeight = (columns: number) => CARD + Math.max(0, columns - 4) * CARD_LINE
const MARGIN = 8

/** Virtual table for millions of rows: only visible ones are rendered. Cells are edited where they are. */
export function Table(properties: TableProperties) {
  const { model, columns, query, rows, selection, fresh, opened, onOpen } = properties
  const element = useRef<HTMLDivElement>(null)
  const cellCursor = useMemo(() => new CellCursor(), [])
  const writes = useMemo(() => cellWritesOf(model), [model])
  useEffect(() => () => writes.leave(), [writes])
  const pasted = useSignal<{ text: string; at: CellPosition; from: number | undefined } | undefined>(undefined)
  const rowHeight = isNarrow.value ? cardHeight(columns.length) : ROW
  const { scroll, view, extent, place, onScroll } = useScrolling({ element, model, query, rows, cellCursor, rowHeight })

  const moveTo = ({ row, column }: CellPosition, isRange = false) => {
    cellCursor.isChosen = true
    const bounded = (value: number, end: number) => Math.max(0, Math.min(end - 1, value))
    cellCursor.move({ row: bounded(row, extent.peek().rows), column: bounded(column, columns.length) }, isRange)
    place(revealing(cellCursor.cursor.peek().row, scroll.peek(), extent.peek()))
    const cell = element.current?.querySelector(
      `#cell-${cellCursor.cursor.peek().row}-${cellCursor.cursor.peek().column}`,
    )
    cell?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }
  const moveBy = (down: number, right: number, isRange = false) => {
    const { row, column } = cellCursor.cursor.peek()
    moveTo({ row: row + down, column: column + right }, isRange)
  }

  const select = (index: number, between: boolean) => {
    selection.toggle(index, between, (first, end) => rows.between(first, end)).catch(notifyError)
  }

  /** Edits the cell at the cursor; what cannot be edited there is opened. */
  const edit = () => {
    const { row: index, column } = cellCursor.cursor.peek()
    const row = rows.at(index)
    if (!row) return
    if (isCellEditable(model, columns[column])) cellCursor.editing.value = row
    else onOpen(row, false)
  }
  const noteEdited = useMoved({
    model,
    rows,
    writes,
    isInView(index) {
      const { first, end } = rowsInView(scroll.peek(), extent.peek(), 0)
      return index >= first && index < end
    },
    onOpen: (row) => onOpen(row, false),
  })
  const endEditing = (down: number, right: number) => {
    const row = cellCursor.editing.peek()
    if (row) noteEdited(row.id, cellCursor.cursor.peek().row)
    cellCursor.editing.value = undefined
    cellCursor.typed = ''
    cellCursor.ending = undefined
    element.current?.focus({ preventScroll: true })
    if (down !== 0 || right !== 0) moveBy(down, right)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== event.currentTarget || event.altKey || event.isComposing) return
    const { shiftKey: isRange } = event
    const row = rows.at(cellCursor.cursor.peek().row)
    const field = columns[cellCursor.cursor.peek().column] as Field
    const page = Math.max(1, Math.floor(view.peek() / rowHeight) - 1)
    const isControl = event.ctrlKey || event.metaKey
    const steps: Record<string, () => void> = isControl
      ? {
          Home: () => moveTo({ row: 0, column: 0 }, isRange),
          End: () => moveTo({ row: extent.peek().rows - 1, column: columns.length - 1 }, isRange),
          Enter: () => row && onOpen(row, true),
        }
      : {
          ArrowDown: () => moveBy(1, 0, isRange),
          ArrowUp: () => moveBy(-1, 0, isRange),
          ArrowRight: () => moveBy(0, 1, isRange),
          ArrowLeft: () => moveBy(0, -1, isRange),
          PageDown: () => moveBy(page, 0, isRange),
          PageUp: () => moveBy(-page, 0, isRange),
          Home: () => moveTo({ row: 0, column: cellCursor.cursor.peek().column }, isRange),
          End: () => moveTo({ row: extent.peek().rows - 1, column: cellCursor.cursor.peek().column }, isRange),
          ' ': () => select(cellCursor.cursor.peek().row, event.shiftKey),
          Enter: edit,
          F2: edit,
          ...(row && writes.stateOf(row, field) && { Escape: () => writes.drop(row, field) }),
        }
    const typed = isCellEditable(model, field) && !isControl ? cellCursor.typing(event.key, edit) : undefined
    // While the input is still to come, keys are meant for it.
    const coming: Record<string, () => void> = {
      Enter: () => {
        cellCursor.ending = [isRange ? -1 : 1, 0]
      },
      Tab: () => {
        cellCursor.ending = [0, isRange ? -1 : 1]
      },
      Escape: () => endEditing(0, 0),
    }
    const step = cellCursor.editing.peek() ? (coming[event.key] ?? typed) : (steps[event.key] ?? typed)
    if (!step) return
    event.preventDefault()
    step()
  }

  const onCopy = (event: ClipboardEvent) => {
    const text = copyRange(cellCursor.range, rows, columns, formatSettings.peek())
    if (text === undefined) return
    event.preventDefault()
    event.clipboardData?.setData('text/plain', text)
  }
  const onPaste = (event: ClipboardEvent) => {
    const text = event.clipboardData?.getData('text/plain')
    if (!text || !model.allowed.update) return
    event.preventDefault()
    const at = cellCursor.range.first
    pasted.value = { text, at, from: rows.at(at.row)?.id }
  }

  useClipboard(element, onCopy, onPaste)
  // The cursor stays with its record, wherever changes of others move it to.
  useEffect(() => cellCursor.follow(rows))

  rows.revision.value
  const words = canSearch(model) ? searchWords(query.get(WORDS_PARAMETER) ?? '') : []
  const { first, end } = rowsInView(scroll.value, extent.value, MARGIN)
  const { position, bar } = scroll.value
  const visible = Array.from({ length: end - first }, (_, index) => first + index)
  const { widths, isFixed } = useWidths(columns, rows, query)
  const cursor = cellCursor.cursor.value
  return html.div(
    {
      ref: element,
      class: 'table',
      style: { ...tableTemplate(widths, isFixed), '--card': `${rowHeight}px` },
      role: 'grid',
      tabIndex: 0,
      'aria-label': model.plural ?? say('{model} records', { model: model.title }),
      'aria-rowcount': extent.value.rows + 1,
      'aria-colcount': columns.length + 1,
      'aria-multiselectable': true,
      'aria-activedescendant': end > first ? `cell-${cursor.row}-${cursor.column}` : undefined,
      onScroll,
      onKeyDown,
      onMouseOver: titleCutCells,
    },
    h(Head, { model, columns, query, widths }),
    html.div(
      { class: 'rows', role: 'rowgroup', style: { height: `${scrollHeight(extent.value)}px` } },
      html.div(
        {
          class: 'slice',
          role: 'presentation',
          style: { transform: `translateY(${bar - position + first * rowHeight}px)` },
        },
        visible.map((index) => {
          const row = rows.at(index)
          return h(TableRow, {
            key: index,
            index,
            row,
            model,
            columns,
            cellCursor,
            writes,
            isSelected: selection.rows.value.has(row?.id ?? 0),
            isOpen: row !== undefined && row.id === opened,
            words,
            isFresh: fresh.has(row?.id ?? 0),
            onSelect: (between: boolean) => select(index, between),
            onPoint: (column: number, isRange: boolean) => {
              cellCursor.editing.value = undefined
              cellCursor.isChosen = true
              cellCursor.move({ row: index, column }, isRange)
              element.current?.focus({ preventScroll: true })
              if (row && opened !== undefined) onOpen(row, false)
            },
            onEdit: edit,
            onOpen: (isWhole: boolean) => row && onOpen(row, isWhole),
            onEdited: endEditing,
          })
        }),
      ),
    ),
    query.has(FOOT_PARAMETER) && h(LazyTableFooter, { model, columns, query }),
    pasted.value &&
      h(Pasting, {
        model,
        columns,
        rows,
        ...pasted.value,
        onClose: () => {
          pasted.value = undefined
          element.current?.focus({ preventScroll: true })
        },
      }),
  )
}
