import { type Signal, signal } from '@preact/signals'
import { say } from '../language/say.ts'
import type { Row } from '../logic/model.ts'
import { notify } from '../parts/notices.ts'

/** Records that can be changed at once in the page; larger changes are made by import. */
export const MAX_SELECTED = 1000

/** Selected records in the version in which they were selected: if one has changed since, its update is refused. */
export class Selection {
  readonly rows: Signal<ReadonlyMap<number, Row>> = signal(new Map())
  #last = -1

  get size(): number {
    return this.rows.value.size
  }

  /** Selects or deselects a row; with `between`, all rows from the last toggled one to this one. */
  async toggle(index: number, between: boolean, rowsIn: (first: number, end: number) => Promise<Row[]>): Promise<void> {
    const from = between && this.#last >= 0 ? this.#last : index
    const first = Math.min(from, index)
    const end = Math.min(Math.max(from, index) + 1, first + MAX_SELECTED)
    const [rows, [row]] = await Promise.all([rowsIn(first, end), rowsIn(index, index + 1)])
    if (!row) return
    const next = new Map(this.rows.value)
    const isChosen = !next.has(row.id)
    for (const one of rows) {
      if (!isChosen) next.delete(one.id)
      else if (next.size < MAX_SELECTED) next.set(one.id, one)
      else notify(say('At most {count} records can be selected.', { count: MAX_SELECTED }))
    }
    this.#last = index
    this.rows.value = next
  }

  /** Selects these rows, up to MAX_SELECTED. */
  take(rows: Row[]): void {
    this.rows.value = new Map(rows.slice(0, MAX_SELECTED).map((row) => [row.id, row]))
  }

  clear(): void {
    this.#last = -1
    this.rows.value = new Map()
  }
}
