import { useSignal } from '@preact/signals'
import { useEffect, useId, useLayoutEffect, useRef } from 'preact/hooks'
import { formatSettings } from '../basics/format-settings.ts'
import { classes, html } from '../basics/html.ts'
import { useLoaded } from '../basics/loading.ts'
import { findRecords, modelNamed, recordName } from '../basics/models.ts'
import { say } from '../language/say.ts'
import { searchWords } from '../logic/highlight.ts'
import { displayName, type Model, type Row } from '../logic/model.ts'
import { unresolvedReference, unresolvedReferenceText } from '../logic/raw.ts'
import { tellApart } from '../logic/tell-apart.ts'
import { highlightedText } from './cell.ts'
import { useBelow } from './use-below.ts'

interface PickerProperties {
  /** the referenced model */
  model: string
  /** an id, or what was typed and names no record (`unresolvedReference`), or empty */
  value: string
  label: string
  id?: string
  describedBy?: string | undefined
  isInvalid?: boolean
  /** ids of records that are not offered */
  without?: string[]
  onValue(value: string): void
}

const TYPED_MS = 150
const SHOWN = 8
/** Records that are asked for at most. */
const MAX_ASKED = 200

/**
 * Combobox that finds a record by words of its fields or by its id, and without a text offers those created last. A
 * text that names no record stays when the input is left, and says that nothing is chosen.
 */
export function Picker(properties: PickerProperties) {
  const { model: name, value, label, id, describedBy, isInvalid, without = [], onValue } = properties
  const isOne = properties.without === undefined
  const list = useId()
  const typed = unresolvedReferenceText(value)
  const chosenId = typed === undefined ? value : ''
  /** what was chosen before something was typed; not known if that was before this input was there */
  const before = useSignal<string | undefined>(undefined)
  const isOpen = useSignal(false)
  const found = useSignal<Row[] | undefined>(undefined)
  const fault = useSignal<string | undefined>(undefined)
  const active = useSignal(0)
  const model = useLoaded(() => modelNamed(name), [name])
  const chosen = useLoaded(async () => (chosenId === '' ? '' : recordName(name, chosenId)), [name, chosenId])
  const rows = (found.value ?? []).filter((row) => !without.includes(String(row.id))).slice(0, SHOWN)
  const isUnknown = !isOpen.value && typed !== undefined
  const text = (typed ?? '').trim()

  useEffect(() => {
    const about = model.value
    if (!isOpen.value || !about) return
    const control = new AbortController()
    const timer = setTimeout(
      () => {
        findRecords(about, text, Math.min(MAX_ASKED, SHOWN + without.length), control.signal).then(
          (rows) => {
            found.value = rows
            fault.value = undefined
            active.value = 0
          },
          (error: Error) => {
            if (!control.signal.aborted) fault.value = error.message
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
    onValue(String(row.id))
  }
  const open = () => {
    if (isOpen.peek() || model.fault) return
    if (typed === undefined) before.value = value
    found.value = undefined
    fault.value = undefined
    isOpen.value = true
  }
  /** Takes an id that was typed because nothing can be found. */
  const takeId = () => {
    if (model.fault && typed !== undefined && /^[1-9]\d*$/.test(text)) onValue(text)
  }
  const close = () => {
    isOpen.value = false
    takeId()
    if (text === '' && typed !== undefined) onValue('')
  }
  /** Closes the list, and brings back what was chosen before something was typed. */
  const undo = () => {
    isOpen.value = false
    const earlier = before.peek()
    if (earlier !== undefined && earlier !== value) onValue(earlier)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    // This Enter belongs to an input method, and confirms the composed text.
    if (event.isComposing) return
    if (event.key === 'Enter' && model.fault) {
      event.preventDefault()
      return takeId()
    }
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
      Escape: undo,
    }
    const step = steps[event.key]
    const isMeant = isOpen.value || event.key === 'ArrowDown' || (event.key === 'Escape' && isUnknown)
    if (!step || !isMeant) return
    event.preventDefault()
    event.stopPropagation()
    step()
  }
  const element = useRef<HTMLDivElement>(null)
  useBelow(element, isOpen.value)
  const shown = typed ?? chosen.value ?? (chosenId === '' ? '' : `#${chosenId}`)
  const input = useRef<HTMLInputElement>(null)
  // The name of the record may come after the text was selected to be typed over: then the name is.
  const wasSelected = isAllSelected(input.current)
  useLayoutEffect(() => {
    if (wasSelected) input.current?.select()
  }, [shown])
  const words = searchWords(text)
  return html.div(
    { ref: element, class: 'picker' },
    html.input({
      ref: input,
      id,
      type: 'text',
      role: 'combobox',
      autocomplete: 'off',
      'aria-label': id === undefined ? label : undefined,
      'aria-expanded': isOpen.value,
      'aria-controls': list,
      'aria-autocomplete': 'list',
      'aria-describedby': classes(describedBy, isUnknown && !isInvalid && `${list}-unknown`) || undefined,
      'aria-invalid': isInvalid || isUnknown,
      'aria-activedescendant': isOpen.value && rows.length > 0 ? `${list}-${active.value}` : undefined,
      placeholder: model.fault ? say('Id') : say('Find by name or id'),
      value: shown,
      maxLength: 200,
      onInput: ({ currentTarget }) => {
        // If the model cannot be read, the user can only type an id. Where several are chosen, it is taken at its end.
        if (model.fault) return onValue(isOne ? currentTarget.value : unresolvedReference(currentTarget.value))
        open()
        // Results for the previous text no longer apply.
        if (currentTarget.value.trim() !== text) found.value = undefined
        // Without a text, nothing is meant.
        onValue(currentTarget.value === '' ? '' : unresolvedReference(currentTarget.value))
      },
      onClick: open,
      onKeyDown,
      onBlur: close,
    }),
    value !== '' &&
      html.button(
        {
          type: 'button',
          class: 'quiet icon-only',
          'aria-label': say('Clear {label}', { label }),
          onClick: () => onValue(''),
        },
        '×',
      ),
    html.ul(
      { id: list, role: 'listbox', 'aria-label': label, hidden: !isOpen.value },
      isOpen.value &&
        (fault.value !== undefined || (found.value && rows.length === 0)) &&
        html.li(
          { role: 'option', 'aria-disabled': true, 'aria-selected': false, class: 'hint' },
          fault.value ?? say('No match'),
        ),
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
            html.span(null, highlightedText(displayName(row, model.value), words)),
            html.span({ class: 'hint second' }, tellApart(row, rows, model.value as Model, formatSettings.value)),
          ),
        ),
    ),
    isUnknown &&
      !isInvalid &&
      html.span({ class: 'why', id: `${list}-unknown` }, say('Nothing is chosen: pick a record from the list.')),
  )
}

function isAllSelected(input: HTMLInputElement | null): boolean {
  if (!input || input !== document.activeElement || input.value === '') return false
  return input.selectionStart === 0 && input.selectionEnd === input.value.length
}
