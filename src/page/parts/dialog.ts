import { type ComponentChildren, h } from 'preact'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import { classes, html } from '../basics/html.ts'

interface DialogProperties {
  title: string
  children?: ComponentChildren
  /** wide enough for a table */
  wide?: boolean
  onClose(): void
}

/** The browser's own dialog: focus stays inside, Esc closes it, and what is behind is out of reach. */
export function Dialog({ title, children, wide, onClose }: DialogProperties) {
  const element = useRef<HTMLDialogElement>(null)
  const heading = useId()
  // Before the next key is pressed: it is meant for the dialog.
  useLayoutEffect(() => {
    const before = document.activeElement as HTMLElement | null
    element.current?.showModal()
    return () => before?.focus()
  }, [])
  return html.dialog(
    {
      ref: element,
      class: classes('dialog', wide && 'wide'),
      'aria-labelledby': heading,
      onCancel: (event: Event) => {
        event.preventDefault()
        onClose()
      },
      // A browser closes a dialog after some more presses of Esc, whatever it is told: what has to be answered stays.
      onClose: () => {
        onClose()
        setTimeout(() => {
          if (element.current?.isConnected && !element.current.open) element.current.showModal()
        })
      },
    },
    html.header(
      null,
      html.h2({ id: heading }, title),
      html.button({ type: 'button', class: 'quiet icon', 'aria-label': 'Close', onClick: onClose }, '×'),
    ),
    children,
  )
}

interface ConfirmProperties {
  title: string
  text: ComponentChildren
  action: string
  onConfirm(): void
  onClose(): void
}

/** Asks before something is done that others will notice. */
export const Confirm = ({ title, text, action, onConfirm, onClose }: ConfirmProperties) =>
  h(
    Dialog,
    { title, onClose },
    html.p(null, text),
    html.footer(
      null,
      html.button({ type: 'button', onClick: onClose }, 'Cancel'),
      html.button({ type: 'button', class: 'danger', onClick: onConfirm }, action),
    ),
  )
