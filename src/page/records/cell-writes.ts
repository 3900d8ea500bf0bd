import { signal } from '@preact/signals'
import { hasErrorCode, request } from '../basics/api.ts'
import { formatSettings } from '../basics/format-settings.ts'
import { recordPath } from '../basics/models.ts'
import { rememberChange } from '../basics/undo.ts'
import { say } from '../language/say.ts'
import { displayName, type Field, type Model, type Row } from '../logic/model.ts'
import type { Raw } from '../logic/raw.ts'
import { formatValue } from '../logic/values.ts'
import { notifyError } from '../parts/notices.ts'

/** A cell that is being saved, or could not be. */
interface CellState {
  fault?: string
  /** what was typed */
  raw: Raw
  /** version to write on next: somebody else's change has been shown */
  version?: number | undefined
}

const cellKey = (id: number, field: string) => `${id} ${field}`

/** By model: what could not be saved is still there when the table is opened again. */
const known = new Map<string, CellWrites>()

export function cellWritesOf(model: Model): CellWrites {
  const writes = known.get(model.model) ?? new CellWrites()
  known.set(model.model, writes)
  writes.serve(model)
  return writes
}

/** Saves single cells of a table, each as an update of its record in the version that was shown. */
export class CellWrites {
  readonly #states = signal<ReadonlyMap<string, CellState>>(new Map())
  #model!: Model
  #isLeft = false
  /** By record: versions that only this window has made since one that was shown. */
  readonly #own = new Map<number, { from: number; version: number }>()
  /** By record: the write in progress, if there is one; they follow each other. */
  readonly #running = new Map<number, Promise<unknown>>()
  /** called with a record as it was saved */
  onSaved: (row: Row) => void = () => undefined

  serve(model: Model): void {
    this.#model = model
    this.#isLeft = false
  }

  /** Called when the table is left: what cannot be saved is told elsewhere from then on. */
  leave(): void {
    this.#isLeft = true
    this.onSaved = () => undefined
  }

  stateOf(row: Row, field: Field): CellState | undefined {
    return this.#states.value.get(cellKey(row.id, field.name))
  }

  /** Forgets what could not be saved. */
  drop(row: Row, field: Field): void {
    this.#set(row, field, undefined)
  }

  async write(row: Row, field: Field, value: unknown, raw: Raw): Promise<void> {
    const seen = this.stateOf(row, field)?.version ?? row.version
    this.#set(row, field, { raw })
    const writing = Promise.resolve(this.#running.get(row.id)).then(() => this.#send(row.id, field, value, seen))
    this.#running.set(
      row.id,
      writing.catch(() => undefined),
    )
    try {
      await writing
      this.#set(row, field, undefined)
    } catch (error) {
      if (this.#isLeft) notifyError(error)
      this.#set(row, field, { raw, ...this.#explain(error as Error, field) })
    }
  }

  async #send(id: number, field: Field, value: unknown, seen: number): Promise<void> {
    const { model, history } = this.#model
    const own = this.#own.get(id)
    const version = own?.from === seen ? own.version : seen
    const body = { merge: true, data: { [field.name]: value, version } }
    const { data } = await request<Row>('POST', recordPath(model, id), { body })
    const [saved] = data as [Row]
    // Only if nobody else has written in between does the user know what the new version has.
    if (saved.version === version + 1) this.#own.set(id, { from: seen, version: saved.version })
    this.onSaved(saved)
    if (history) rememberChange(model, data, { name: displayName(saved, this.#model) })
  }

  /** Shows why a cell cannot be saved without asking the service. */
  refuse(row: Row, field: Field, raw: Raw, fault: string): void {
    this.#set(row, field, { raw, fault: `${field.title} ${fault}` })
  }

  #explain(error: Error, field: Field): Omit<CellState, 'raw'> {
    if (hasErrorCode(error, 'VERSION_CONFLICT')) {
      const [theirs] = (error.failure.data ?? []) as Row[]
      const { by } = error.failure.conflict?.fields[field.name] ?? { by: null }
      const now = formatValue(field, theirs?.[field.name], formatSettings.value)
      const fault = say(
        '{person} has changed this meanwhile, to: {value}. Enter saves yours all the same, Esc leaves theirs.',
        { person: by ?? say('Somebody'), value: now },
      )
      return { fault, version: theirs?.version }
    }
    const own = hasErrorCode(error, 'VALIDATION_FAILED') ? error.errors[field.name] : undefined
    return { fault: own === undefined ? error.message : `${field.title} ${own}` }
  }

  #set(row: Row, field: Field, state: CellState | undefined): void {
    const next = new Map(this.#states.value)
    if (state) next.set(cellKey(row.id, field.name), state)
    else next.delete(cellKey(row.id, field.name))
    this.#states.value = next
  }
}
