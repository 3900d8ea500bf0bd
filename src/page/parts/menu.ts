import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'
import { classes, html } from '../basics/html.ts'

interface MenuProperties {
  label: ComponentChildren
  class?: string
  children?: ComponentChildren
}

/** A button that opens a small panel: the browser's own popover, which closes by Esc and by a click elsewhere. */
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
        // Whoever has chosen is done.
        onClick: ({ target, currentTarget }) => {
          if ((target as Element).closest('a, .closes')) currentTarget.hidePopover()
        },
      },
      children,
    ),
  )
}
