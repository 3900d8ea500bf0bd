import { useSignal } from '@preact/signals'
import { h } from 'preact'
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { zone } from '../basics/format-settings.ts'
import { html } from '../basics/html.ts'
import { say } from '../language/say.ts'
import { isSame } from '../logic/merge.ts'
import type { Field, Row, Schema } from '../logic/model.ts'
import { inputKind, isUnchanged, type Raw, readRaw, toRaw, unresolvedReference } from '../logic/raw.ts'
import { isReadAsPasted, typedValue } from '../logic/typed-cell.ts'
import { Input } from '../parts/input.ts'
import type { CellWrites } from './cell-writes.ts'

interface EditorProperties {
  /** as it was when the editing began */
  row: Row
  field: Field
  writes: CellWrites
  /** what was typed on the cell to begin with; it takes the place of the value */
  typed(): string
  /** where the cursor moves to at once, if Enter or Tab came before this input */
  ending(): [rows: number, columns: number] | undefined
  /** The cell is done with; the cursor moves on by so many rows and columns. */
  onDone(rows: number, columns: number): void
}

/** Edits a cell where it is: Enter and Tab save and move on, Esc takes back. */
export function CellEditor({ row, field, writes, typed, ending, onDone }: EditorProperties) {
  const kept = writes.stateOf(row, field)
  const value = row[field.name]
  // Some keys may have come before this input; only those of then count.
  const begun = useMemo(() => (typed() === '' ? undefined : begunRaw(field, typed())), [])
  // Keys that are typed on a date or a choice are read as pasted text is: a date input would lose the first key.
  const isTyped = useMemo(() => isReadAsPasted(field, begun ?? kept?.raw, begun !== undefined), [])
  const raw = useSignal<Raw>(begun ?? kept?.raw ?? toRaw(field, value, zone.peek()))
  const element = useRef<HTMLDivElement>(null)
  const isOver = useRef(false)
  const latest = useRef<(rows: number, columns: number) => void>(() => undefined)
  // A layout effect, so that the next key belongs to the input.
  useLayoutEffect(() => {
    const input = element.current?.querySelector<HTMLInputElement>('input, select, textarea')
    input?.focus()
    // The first key replaces the value, as in a spreadsheet; dates have no selection.
    if (begun === undefined && (input?.type === 'text' || input instanceof HTMLTextAreaElement)) input.select()
    // The list of a reference opens by what is typed.
    if (begun !== undefined) input?.dispatchEvent(new Event('input', { bubbles: true }))
    const end = ending()
    if (end) latest.current(...end)
  }, [])
  // A row that is scrolled away, or not found any more, takes its input along: what was typed is saved.
  useEffect(() => () => latest.current(0, 0), [])
  const leave = (rows: number, columns: number) => {
    if (isOver.current) return
    isOver.current = true
    onDone(rows, columns)
  }
  const save = (rows: number, columns: number, next: Raw = raw.peek(), isMeant = false) => {
    if (isOver.current) return
    // Somebody else's value is only overwritten by Enter, not by leaving the cell again.
    if (kept?.version !== undefined && !isMeant && isSame(next, kept.raw)) return leave(rows, columns)
    if (isUnchanged(field, next, value, zone.peek()) && kept?.version === undefined) {
      writes.drop(row, field)
      return leave(rows, columns)
    }
    const read = isTyped ? typedValue(field, next as string, zone.peek()) : readRaw(field, next, zone.peek(), value)
    if ('fault' in read || (read.value === null && field.required)) {
      writes.refuse(row, field, next, 'fault' in read ? read.fault : say('is missing'))
      return
    }
    leave(rows, columns)
    if (isTyped && isSame(read.value, value)) writes.drop(row, field)
    else void writes.write(row, field, read.value, isTyped ? toRaw(field, read.value, zone.peek()) : next)
  }
  latest.current = save
  const cancel = () => {
    writes.drop(row, field)
    leave(0, 0)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.isComposing || event.defaultPrevented) return
    const isLong = event.target instanceof HTMLTextAreaElement
    const steps: Record<string, () => void> = {
      Escape: cancel,
      Tab: () => save(0, event.shiftKey ? -1 : 1),
      ...(!(isLong && (event.shiftKey || event.altKey)) && {
        Enter: () => save(event.shiftKey ? -1 : 1, 0, undefined, true),
      }),
    }
    event.stopPropagation()
    const step = steps[event.key]
    if (!step) return
    event.preventDefault()
    step()
  }
  const isReference = inputKind(field) === 'reference'
  const fault = writes.stateOf(row, field)?.fault
  return html.div(
    {
      ref: element,
      onKeyDown,
      onFocusOut: ({ relatedTarget }: FocusEvent) => {
        if (!element.current?.contains(relatedTarget as Node | null)) save(0, 0)
      },
    },
    h(Input, {
      schema: isTyped ? TEXT : field,
      raw: raw.value,
      id: `edit-${row.id}-${field.name}`,
      label: field.title,
      isRequired: field.required,
      isLine: true,
      isInvalid: fault !== undefined,
      describedBy: fault === undefined ? undefined : 'cell-fault',
      onRaw: (next) => {
        raw.value = next
        // A record that is picked from the list is meant.
        if (isReference && /^\d+$/.test(String(next))) save(0, 0, next)
      },
    }),
    html.label({ class: 'unseen', for: `edit-${row.id}-${field.name}` }, field.title),
    fault !== undefined && html.span({ class: 'cell-fault', id: 'cell-fault', role: 'alert' }, fault),
  )
}

/** The text that an input begins with if keys were typed on its cell. */
function begunRaw(field: Field, typed: string): Raw {
  if (inputKind(field) === 'reference') return unresolvedReference(typed)
  return typed
}

const TEXT: Schema = { type: 'string', maxLength: 100 }
