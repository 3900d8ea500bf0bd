import { useSignal } from '@preact/signals'
import { h } from 'preact'
import { to } from '../basics/address.ts'
import { html } from '../basics/html.ts'
import { say, sayParts } from '../language/say.ts'
import { Dialog } from './dialog.ts'

/** Dialog with a curl command to copy. */
export const Curl = ({ command, onClose }: { command: string; onClose(): void }) =>
  h(
    Dialog,
    { title: say('The same with curl'), onClose, wide: true },
    h(Copyable, { text: command }),
    html.p(
      { class: 'hint' },
      sayParts('$TOKEN is a token for scripts: make one under {place}.', {
        place: html.a({ href: to('me'), onClick: onClose }, say('you')),
      }),
    ),
  )

/** A text with a copy button. */
export function Copyable({ text }: { text: string }) {
  const isCopied = useSignal(false)
  return html.div(
    { class: 'copyable' },
    html.pre({ tabIndex: 0 }, text),
    html.button(
      {
        type: 'button',
        onClick: async ({ currentTarget }: { currentTarget: HTMLElement }) => {
          // Without HTTPS (except on localhost) there is no clipboard API; the selected text can be copied by hand.
          getSelection()?.selectAllChildren(currentTarget.previousElementSibling as Element)
          await navigator.clipboard?.writeText(text)
          isCopied.value = navigator.clipboard !== undefined
        },
      },
      isCopied.value ? say('Copied') : say('Copy'),
    ),
  )
}
