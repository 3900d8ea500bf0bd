import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'
import { html } from '../basics/html.ts'

/** A button that opens a small panel: the browser's own popover, which closes by Esc and by a click elsewhere. */
export function Menu({ label, children }: { label: ComponentChildren; children?: ComponentChildren }) {
  const id = useId()
  return html.div(
    { class: 'menu' },
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
