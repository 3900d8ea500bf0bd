import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'
import { classes, html } from '../basics/html.ts'

interface MenuProperties {
  label: ComponentChildren
  class?: string
  children?: ComponentChildren
}

/** A button with the browser's popover, which closes on Esc and on a click elsewhere. */
export function Menu({ label, class: more, children }: MenuProperties) {
  const id = useId()
  return html.div(
    { class: classes('menu', more) },
    html.button({ type: 'button', popovertarget: id, style: { anchorName: `--${id}` } }, label),
    html.div(
      {
        id,
        popover: 'auto',
        class: 'panel',
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
