import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'
import { classes, html } from '../basics/html.ts'

interface MenuProperties {
  label: ComponentChildren
  /** what the button is called, if its label is only a picture */
  name?: string
  class?: string
  /** the panel begins below the button, and does not end there */
  begins?: boolean
  children?: ComponentChildren
}

/** A button with the browser's popover, which closes on Esc and on a click elsewhere. */
export function Menu({ label, name, class: more, begins, children }: MenuProperties) {
  const id = useId()
  return html.div(
    { class: classes('menu', more) },
    html.button(
      { type: 'button', popovertarget: id, style: { anchorName: `--${id}` }, 'aria-label': name, title: name },
      label,
    ),
    html.div(
      {
        id,
        popover: 'auto',
        class: classes('panel', begins && 'begins'),
        style: { positionAnchor: `--${id}` },
        // Closes after a choice.
        onClick: ({ target, currentTarget }) => {
          if ((target as Element).closest('a, .closes')) currentTarget.hidePopover()
        },
      },
      children,
    ),
  )
}
