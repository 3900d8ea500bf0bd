import { h } from 'preact'
import { to } from '../basics/address.ts'
import { classes, html } from '../basics/html.ts'
import { say } from '../language/say.ts'
import { displayName, type Field, isNumeric, type Model, type Row } from '../logic/model.ts'
import { Cell } from '../parts/cell.ts'
import { lazy } from '../parts/lazy.ts'
import { isNarrow } from '../parts/narrow.ts'
import { isWide } from '../parts/wide.ts'
import type { CellCursor } from './cell-cursor.ts'
import type { CellWrites } from './cell-writes.ts'

const CellEditor = lazy(async () => (await import('./cell-editor.ts')).CellEditor)

interface TableRowProperties {
  index: number
  row: Row | undefined
  model: Model
  columns: Field[]
  cellCursor: CellCursor
  writes: CellWrites
  isSelected: boolean
  /** whether the record is shown beside the table */
  isOpen: boolean
  isFresh: boolean
  /** folded words that were searched for */
  words: string[]
  onSelect(between: boolean): void
  /** The cursor moves to a cell of this row. */
  onPoint(column: number, isRange: boolean): void
  onEdit(): void
  onOpen(isWhole: boolean): void
  onEdited(rows: number, columns: number): void
}

/** A row of the table, shown as a card on a phone, where a tap anywhere opens the record. */
export function TableRow(properties: TableRowProperties) {
  const { index, row, model, columns, cellCursor, isSelected, isOpen, isFresh, onSelect, onOpen } = properties
  const isActive = cellCursor.cursor.value.row === index
  return html.div(
    {
      id: `row-${index}`,
      role: 'row',
      class: classes(
        'row',
        isActive && 'active',
        isSelected && 'selected',
        isOpen && 'open',
        isFresh && 'fresh',
        !row && 'coming',
      ),
      'aria-rowindex': index + 2,
      'aria-selected': isSelected,
      onClick: (event: MouseEvent) => {
        if (isNarrow.peek() && row && !(event.target as Element).closest('input')) {
          event.preventDefault()
          onOpen(true)
        }
      },
    },
    html.div(
      { role: 'gridcell', class: 'pick' },
      row &&
        canSelect(model) &&
        html.input({
          type: 'checkbox',
          tabIndex: -1,
          'aria-label': say('Select {record}', { record: displayName(row, model) }),
          checked: isSelected,
          onClick: (event: MouseEvent) => onSelect(event.shiftKey),
        }),
    ),
    columns.map((_field, column) => lineCell(properties, column)),
  )
}

/** Records are selected to be changed or deleted: a user who may do neither cannot select them. */
const canSelect = ({ allowed }: Model) => allowed.update || allowed.delete

function lineCell(properties: TableRowProperties, column: number) {
  const { index, row, columns, cellCursor, writes, onPoint, onEdit, onEdited } = properties
  const field = columns[column] as Field
  const { row: at, column: place } = cellCursor.cursor.value
  const isCurrent = at === index && place === column
  // The record may have moved to another row since its cell is edited.
  const edited = cellCursor.editing.value
  const isEdited = edited !== undefined && edited.id === row?.id && place === column
  const state = row && writes.stateOf(row, field)
  const isLink = ({ target }: Event) => (target as Element).closest('a') !== null
  return html.div(
    {
      key: field.name,
      id: `cell-${index}-${column}`,
      role: 'gridcell',
      'aria-invalid': state?.fault !== undefined,
      class: classes(
        'cell',
        isNumeric(field) && 'number',
        isCurrent && 'current',
        cellCursor.isMarked(index, column) && 'chosen',
        isEdited && 'editing',
        state && (state.fault === undefined ? 'saving' : 'wrong'),
      ),
      // With Shift, the browser would mark the text between two clicks.
      onMouseDown: (event: MouseEvent) => event.shiftKey && event.preventDefault(),
      onClick: (event: MouseEvent) => {
        if (isEdited || isNarrow.peek() || isLink(event)) return
        if (getSelection()?.isCollapsed !== false) onPoint(column, event.shiftKey)
      },
      onDblClick: (event: MouseEvent) => {
        if (isEdited || !row || isLink(event)) return
        getSelection()?.empty()
        onEdit()
      },
    },
    html.span({ class: 'label', 'aria-hidden': true }, field.title),
    isEdited
      ? h(CellEditor, {
          typed: () => cellCursor.typed,
          ending: () => cellCursor.ending,
          key: edited.id,
          row: edited,
          field,
          writes,
          onDone: onEdited,
        })
      : row && (column === 0 ? nameLink(properties, row) : cellValue(properties, row, column)),
    !isEdited && state?.fault !== undefined && html.span({ class: 'cell-fault', role: 'alert' }, state.fault),
  )
}

function cellValue({ model, columns, words }: TableRowProperties, row: Row, column: number) {
  const field = columns[column] as Field
  return h(Cell, {
    field,
    value: row[field.name],
    short: true,
    plain: column === 0 || isNarrow.value,
    words: model.search.includes(field.name) ? words : [],
  })
}

/** The first cell leads to the record: beside the table, or where there is little room on a page of its own. */
function nameLink(properties: TableRowProperties, row: Row) {
  const { model, onPoint, onOpen } = properties
  return html.a(
    {
      class: 'opens',
      href: to('m', model.model, row.id),
      tabIndex: -1,
      onClick: (event: MouseEvent) => {
        // With Ctrl or Shift the browser opens another tab or window.
        if (event.ctrlKey || event.metaKey || event.shiftKey || !isWide.peek()) return
        event.preventDefault()
        onPoint(0, false)
        onOpen(false)
      },
    },
    cellValue(properties, row, 0),
  )
}
