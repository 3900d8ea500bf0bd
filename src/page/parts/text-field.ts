import type { Signal } from '@preact/signals'
import { useId } from 'preact/hooks'
import { html } from '../basics/html.ts'

interface TextFieldProperties {
  label: string
  text: Signal<string>
  type?: 'text' | 'password'
  autocomplete?: string
  hint?: string
  fault?: string | undefined
  /** gets the focus when it appears */
  isFirst?: boolean
}

/** A labelled text input, for forms that are not built from a model. */
export function TextField({
  label,
  text,
  type = 'text',
  autocomplete = 'off',
  hint,
  fault,
  isFirst,
}: TextFieldProperties) {
  const id = useId()
  return html.div(
    { class: 'field' },
    html.label({ class: 'name', for: id }, label),
    html.input({
      id,
      // One of two types; the cast is needed because preact's types expect a single literal.
      type: type as 'text',
      autocomplete,
      autoFocus: isFirst,
      'aria-describedby': hint === undefined && fault === undefined ? undefined : `${id}-note`,
      'aria-invalid': fault !== undefined,
      value: text.value,
      onInput: ({ currentTarget }) => {
        text.value = currentTarget.value
      },
    }),
    (fault ?? hint) !== undefined &&
      html.span({ id: `${id}-note`, class: fault === undefined ? 'hint' : 'why' }, fault ?? hint),
  )
}
