import type { Signal } from '@preact/signals'
import { html } from '../basics/html.ts'

/** A box to tick, with its words. */
export const checkBox = (text: string, isOn: Pick<Signal<boolean>, 'value'>) =>
  html.label(
    null,
    html.input({
      type: 'checkbox',
      checked: isOn.value,
      onChange: ({ currentTarget }) => {
        isOn.value = currentTarget.checked
      },
    }),
    ` ${text}`,
  )
