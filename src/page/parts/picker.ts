import { useSignal } from '@preact/signals'
import { useEffect, useId } from 'preact/hooks'
import { classes, html } from '../basics/html.ts'
import { useLoaded } from '../basics/loading.ts'
import { findRecords, modelNamed, recordName } from '../basics/models.ts'
import { zone } from '../basics/zone.ts'
import { searchWords } from '../logic/highlight.ts'
import { displayName, type Model, type Row } from '../logic/model.ts'
import { tellApart } from '../logic/tell-apart.ts'
import { marked } from './cell.ts'

interface PickerProperties {
  /** the referenced model */
  model: string
  /** an id, or empty */
  value: string
  label: string
  id?: string
  describedBy?: string | undefined
  isInvalid?: boolean
  onValue(value: string): void
}

const TYPED_MS = 150
const SHOWN = 8

/**
 * Combobox that finds a record by words of its fields or by its id, and without a text offers those created last. A text
 * that names no record stays when the input is left, and says that nothing is chosen.
 */
export function Picker({ model: name, value, label, id, describedBy, isInvalid, onValue }: PickerProperties) {
  const list = useId()
  /** what is typed instead of the name of the chosen record */
  const typed = useSignal<string | undefined>(undefined)
  /** what was chosen before something was typed */
  const before = useSignal('')
  const isOpen = useSignal(false)
  const found = useSignal<Row[] | undefined>(undefined)
  const active = useSignal(0)
  const model = useLoaded(() => modelNamed(name), [name])
  const chosen = useLoaded(async () => (value === '' ? '' : recordName(name, value)), [name, value])
  const rows = found.value ?? []
  const isUnknown = !isOpen.value && typed.value !== undefined
  const text = (typed.value ?? '').trim()

  useEffect(() => {
    const about = model.value
    if (!isOpen.value || !about) return
    const control = new AbortController()
    const timer = setTimeout(
      () => {
        findRecords(about, text, SHOWN, control.signal).then(
          (rows) => {
            found.value = rows
            active.value = 0
          },
          () => {
            if (!control.signal.aborted) found.value = []
          },
        )
      },
      text === '' ? 0 : TYPED_MS,
    )
    return () => {
      clearTimeout(timer)
      control.abort()
    }
  }, [isOpen.value, text, model.value])

  const choose = (row: Row | undefined) => {
    if (!row) return
    isOpen.value = false
    typed.value = undefined
    onValue(String(row.id))
  }
  const open = () => {
    if (isOpen.peek() || model.fault) return
    found.value = undefined
    isOpen.value = true
  }
  const close = () => {
    isOpen.value = false
    if (typed.peek()?.trim() === '') typed.value = undefined
  }
  const onKeyDown = (event: KeyboardEvent) => {
    // An only match is meant; the focus goes on as usual.
    if (event.key === 'Tab' && isOpen.value && text !== '' && rows.length === 1) choose(rows[0])
    const steps: Record<string, () => void> = {
      ArrowDown: () => {
        if (isOpen.value) active.value = Math.min(rows.length - 1, active.value + 1)
        else open()
      },
      ArrowUp: () => {
        active.value = Math.max(0, active.value - 1)
      },
      Enter: () => choose(rows[active.value]),
      Escape: () => {
        isOpen.value = false
        if (typed.peek() === undefined) return
        typed.value = undefined
        onValue(before.peek())
      },
    }
    const step = steps[event.key]
    if (!step || (!isOpen.value && event.key !== 'ArrowDown')) return
    event.preventDefault()
    event.stopPropagation()
    step()
  }
  const words = searchWords(text)
  return html.div(
    { class: 'picker' },
    html.input({
      id,
      type: 'text',
      role: 'combobox',
      autocomplete: 'off',
      'aria-label': id === undefined ? label : undefined,
      'aria-expanded': isOpen.value,
      'aria-controls': list,
      'aria-autocomplete': 'list',
      'aria-describedby': classes(describedBy, isUnknown && `${list}-unknown`) || undefined,
      'aria-invalid': isInvalid || isUnknown,
      'aria-activedescendant': isOpen.value && rows.length > 0 ? `${list}-${active.value}` : undefined,
      placeholder: model.fault ? 'Id' : `Find by name or id`,
      value: typed.value ?? chosen.value ?? (value === '' ? '' : `#${value}`),
      maxLength: 200,
      onInput: ({ currentTarget }) => {
        // If the model cannot be read, the user can only type an id.
        if (model.fault) return onValue(currentTarget.value)
        if (typed.peek() === undefined) before.value = value
        typed.value = currentTarget.value
        isOpen.value = true
        // Results for the previous text no longer apply, and neither does what was chosen before.
        found.value = undefined
        if (value !== '') onValue('')
      },
      onClick: open,
      onKeyDown,
      onBlur: close,
    }),
    value !== '' &&
      html.button(
        { type: 'button', class: 'quiet icon', 'aria-label': `Clear ${label}`, onClick: () => onValue('') },
        '×',
      ),
    html.ul(
      { id: list, role: 'listbox', 'aria-label': label, hidden: !isOpen.value },
      isOpen.value &&
        found.value?.length === 0 &&
        html.li({ role: 'option', 'aria-disabled': true, 'aria-selected': false, class: 'hint' }, 'No match'),
      isOpen.value &&
        model.value &&
        rows.map((row, index) =>
          html.li(
            {
              key: row.id,
              id: `${list}-${index}`,
              role: 'option',
              'aria-selected': index === active.value,
              class: classes(index === active.value && 'active'),
              // `mousedown` comes before the input loses focus, which closes the list.
              onMouseDown: (event: Event) => {
                event.preventDefault()
                choose(row)
              },
            },
            html.span(null, marked(displayName(row, model.value), words)),
            html.span({ class: 'hint second' }, tellApart(row, rows, model.value as Model, zone.value)),
          ),
        ),
    ),
    isUnknown && html.span({ class: 'why', id: `${list}-unknown` }, `Nothing is chosen: pick a record from the list.`),
  )
}
