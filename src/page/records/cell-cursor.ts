import { type Signal, signal } from '@preact/signals'
import type { Field, Model, Row } from '../logic/model.ts'
import { inputKind, STRUCTURED_KINDS } from '../logic/raw.ts'
import type { Rows } from './rows.ts'

/** A cell by its place in the table. */
export interface CellPosition {
  row: number
  column: number
}

/** Whether a cell can be edited where it is. */
export const isCellEditable = (model: Model, field: Field | undefined) =>
  field !== undefined &&
  model.allowed.update &&
  !field.readOnly &&
  !field.writeOnly &&
  !STRUCTURED_KINDS.includes(inputKind(field))

/** The cursor of a table, the range that is marked, and the cell that is edited. */
export class CellCursor {
  readonly cursor: Signal<CellPosition> = signal({ row: 0, column: 0 })
  /** other corner of the marked range */
  readonly anchor: Signal<CellPosition | undefined> = signal(undefined)
  /**
   * the record whose cell is edited, as it was when that began: what others change meanwhile, and where the record
   * moves to in the table, changes neither the value that was seen nor the record that is written
   */
  readonly editing: Signal<Row | undefined> = signal(undefined)

  /** whether the user has pointed at a cell: then what is typed is meant for it, and no shortcut */
  isChosen = false
  /** what was typed on a cell to begin with */
  typed = ''
  /** where Enter or Tab lead that came before the input of the cell was there */
  ending: [rows: number, columns: number] | undefined

  /** the row of the cursor, and the record that was there */
  #held: { row: number; id: number | undefined } | undefined

  /** Moves the cursor; with `isRange` the range grows or shrinks. */
  move(to: CellPosition, isRange: boolean): void {
    this.anchor.value = isRange ? (this.anchor.peek() ?? this.cursor.peek()) : undefined
    const { row, column } = this.cursor.peek()
    // Another object would render all rows again.
    if (to.row !== row || to.column !== column) this.cursor.value = to
  }

  /** Keys that are typed on a cell replace its value, as in a spreadsheet. Some may come before there is an input. */
  typing(key: string, edit: () => void): (() => void) | undefined {
    if ([...key].length !== 1 || !this.isChosen) return undefined
    return () => {
      // Keys after Enter or Tab are not meant for this cell.
      if (this.ending) return
      this.typed = this.editing.peek() ? this.typed + key : key
      if (!this.editing.peek()) edit()
    }
  }

  /** Moves the cursor and the marked range along with their record. Called when rows may have moved. */
  follow(rows: Pick<Rows, 'at' | 'indexOf'>): void {
    const { row, column } = this.cursor.peek()
    const { row: before, id } = this.#held ?? {}
    const isThere = before !== row || id === undefined || rows.at(row)?.id === id
    const now = isThere ? row : rows.indexOf(id)
    if (now !== undefined && now !== row) {
      const anchor = this.anchor.peek()
      if (anchor) this.anchor.value = { ...anchor, row: Math.max(0, anchor.row + now - row) }
      this.cursor.value = { row: now, column }
    }
    this.#held = { row: this.cursor.peek().row, id: rows.at(this.cursor.peek().row)?.id }
  }

  /** The marked range, or the cell at the cursor. */
  get range(): { first: CellPosition; last: CellPosition } {
    const { value: cursor } = this.cursor
    const { value: anchor = cursor } = this.anchor
    return {
      first: { row: Math.min(cursor.row, anchor.row), column: Math.min(cursor.column, anchor.column) },
      last: { row: Math.max(cursor.row, anchor.row), column: Math.max(cursor.column, anchor.column) },
    }
  }

  isMarked(row: number, column: number): boolean {
    if (!this.anchor.value) return false
    const { first, last } = this.range
    return row >= first.row && row <= last.row && column >= first.column && column <= last.column
  }
}
