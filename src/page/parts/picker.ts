import { useSignal } from '@preact/signals'
import { useEffect, useId } from 'preact/hooks'
import { classes, html } from '../basics/html.ts'
import { useLoaded } from '../basics/loading.ts'
import { modelNamed, recordName, recordsLike } from '../basics/models.ts'
import { displayName, type Row } from '../logic/model.ts'

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

/** Combobox that finds a record by its name or id. */
export function Picker({ model: name, value, label, id, describedBy, isInvalid, onValue }: PickerProperties) {
  const list = useId()
  const typed = useSignal<string | undefined>(undefined)
  const found = useSignal<Row[] | undefined>(undefined)
  const active = useSignal(0)
  const model = useLoaded(() => modelNamed(name), [name])
  const chosen = useLoaded(async () => (value === '' ? '' : recordName(name, value)), [name, value])
  const isOpen = typed.value !== undefined
  const rows = found.value ?? []

  useEffect(() => {
    const text = typed.value
    if (text === undefined || !model.value) return
    const control = new AbortController()
    const about = model.value
    const timer = setTimeout(() => {
      recordsLike(about, text.trim(), SHOWN, control.signal).then(
        (rows) => {
          found.value = rows
          active.value = 0
        },
        () => {
          if (!control.signal.aborted) found.value = []
        },
      )
    }, TYPED_MS)
    return () => {
      clearTimeout(timer)
      control.abort()
    }
  }, [typed.value, model.value])

  const choose = (row: Row | undefined) => {
    if (!row) return
    typed.value = undefined
    onValue(String(row.id))
  }
  const close = () => {
    typed.value = undefined
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const steps: Record<string, () => void> = {
      ArrowDown: () => {
        if (isOpen) active.value = Math.min(rows.length - 1, active.value + 1)
        else typed.value = ''
      },
      ArrowUp: () => {
        active.value = Math.max(0, active.value - 1)
      },
      Enter: () => choose(rows[active.value]),
      Escape: close,
    }
    const step = steps[event.key]
    if (!step || (!isOpen && event.key !== 'ArrowDown')) return
    event.preventDefault()
    event.stopPropagation()
    step()
  }
  return html.div(
    { class: 'picker' },
    html.input({
      id,
      type: 'text',
      role: 'combobox',
      autocomplete: 'off',
      'aria-label': id === undefined ? label : undefined,
      'aria-expanded': isOpen,
      'aria-controls': list,
      'aria-autocomplete': 'list',
      'aria-describedby': describedBy,
      'aria-invalid': isInvalid,
      'aria-activedescendant': isOpen && rows.length > 0 ? `${list}-${active.value}` : undefined,
      placeholder: model.fault ? 'Id' : `Find by name or id`,
      value: typed.value ?? chosen.value ?? (value === '' ? '' : `#${value}`),
      onInput: ({ currentTarget }) => {
        // If the model cannot be read, the user can only type an id.
        if (model.fault) onValue(currentTarget.value)
        else {
          typed.value = currentTarget.value
          // Results for the previous text no longer apply.
          found.value = undefined
        }
      },
      onKeyDown,
      onBlur: close,
    }),
    value !== '' &&
      html.button(
        { type: 'button', class: 'quiet icon', 'aria-label': `Clear ${label}`, onClick: () => onValue('') },
        '×',
      ),
    html.ul(
      { id: list, role: 'listbox', 'aria-label': label, hidden: !isOpen },
      isOpen &&
        found.value?.length === 0 &&
        html.li({ role: 'option', 'aria-disabled': true, 'aria-selected': false, class: 'hint' }, 'No match'),
      isOpen &&
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
            html.span(null, displayName(row, model.value)),
            html.span({ class: 'hint' }, ` #${row.id}`),
          ),
        ),
    ),
  )
}
