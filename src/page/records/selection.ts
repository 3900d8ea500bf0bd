import { type Signal, signal } from '@preact/signals'
import type { Row } from '../logic/model.ts'

/** Records that something is to be done with: as they were when they were chosen, so that their version counts. */
export class Selection {
  readonly rows: Signal<ReadonlyMap<number, Row>> = signal(new Map())
  #last = -1

  has(id: number): boolean {
    return this.rows.value.has(id)
  }

  get size(): number {
    return this.rows.value.size
  }

  /** With `between`, all from the last one that was chosen up to this one. */
  toggle(index: number, rowAt: (index: number) => Row | undefined, between = false): void {
    const row = rowAt(index)
    if (!row) return
    const next = new Map(this.rows.value)
    const isChosen = !next.has(row.id)
    const from = between && this.#last >= 0 ? this.#last : index
    for (let at = Math.min(from, index); at <= Math.max(from, index); at++) {
      const one = rowAt(at)
      if (one && isChosen && next.size < MOST) next.set(one.id, one)
      else if (one && !isChosen) next.delete(one.id)
    }
    this.#last = index
    this.rows.value = next
  }

  keep(ids: number[]): void {
    this.rows.value = new Map([...this.rows.value].filter(([id]) => ids.includes(id)))
  }

  clear(): void {
    this.#last = -1
    this.rows.value = new Map()
  }
}

/** Records that can be changed together; for more there is import. */
export const MOST = 1000
