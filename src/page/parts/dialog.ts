import { type ComponentChildren, h } from 'preact'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import { classes, html } from '../basics/html.ts'
import { say } from '../language/say.ts'

interface DialogProperties {
  title: string
  children?: ComponentChildren
  wide?: boolean
  onClose(): void
}

/** Uses the browser's modal dialog: focus stays inside, Esc closes it, and the page behind is inert. */
export function Dialog({ title, children, wide, onClose }: DialogProperties) {
  const element = useRef<HTMLDialogElement>(null)
  const heading = useId()
  // A layout effect opens the dialog at once, so that the next key press goes to it.
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
      // Browsers close a dialog after repeated Esc even if `cancel` is prevented; one that must be answered reopens.
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
      html.button({ type: 'button', class: 'quiet icon-only', 'aria-label': say('Close'), onClick: onClose }, '×'),
    ),
    children,
  )
}

interface ConfirmProperties {
  title: string
  text: ComponentChildren
  action: string
  isDisabled?: boolean
  onConfirm(): void
  onClose(): void
}

/** Asks for confirmation before an action that affects other users. */
export const Confirm = ({ title, text, action, isDisabled, onConfirm, onClose }: ConfirmProperties) =>
  h(
    Dialog,
    { title, onClose },
    html.p(null, text),
    html.footer(
      null,
      html.button({ type: 'button', onClick: onClose }, say('Cancel')),
      html.button({ type: 'button', class: 'danger', disabled: isDisabled, onClick: onConfirm }, action),
    ),
  )
