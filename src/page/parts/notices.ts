import { signal } from '@preact/signals'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { html } from '../basics/html.ts'
import { say } from '../language/say.ts'

/** A short notice in a corner of the page, with an optional action such as undo. */
interface Notice {
  number: number
  text: string
  kind: 'done' | 'wrong'
  /** milliseconds since 1970 */
  at: number
  action?: { label: string; run(): void }
}

const SHOWN_MS = 8000

let count = 0
const notices = signal<Notice[]>([])

export function notify(text: string, action?: Notice['action']): void {
  add({ number: ++count, text, kind: 'done', at: Date.now(), ...(action && { action }) })
}

export function notifyError(error: unknown): void {
  add({ number: ++count, text: error instanceof Error ? error.message : String(error), kind: 'wrong', at: Date.now() })
}

/** Errors are about the place where they happened: whoever goes elsewhere is done with them. */
const RECENT_MS = 1000
addEventListener('hashchange', () => {
  const since = Date.now() - RECENT_MS
  notices.value = notices.value.filter(({ kind, at }) => kind === 'done' || at > since)
})

function add(notice: Notice): void {
  notices.value = [...notices.value.slice(-3), notice]
  // Errors stay until they are dismissed, or the place is left.
  if (notice.kind === 'done') setTimeout(() => dismiss(notice), SHOWN_MS)
}

function dismiss(notice: Notice): void {
  notices.value = notices.value.filter((one) => one !== notice)
}

export function Notices() {
  const element = useRef<HTMLDivElement>(null)
  // The popover is reopened for each change, so that it lies above dialogs opened since.
  useLayoutEffect(() => {
    element.current?.hidePopover()
    if (notices.value.length > 0) element.current?.showPopover()
  }, [notices.value])
  return html.div(
    { ref: element, popover: 'manual', class: 'notices', role: 'status', 'aria-live': 'polite' },
    notices.value.map((notice) =>
      html.div(
        { key: notice.number, class: `notice ${notice.kind}` },
        html.span(null, notice.text),
        notice.action &&
          html.button(
            {
              type: 'button',
              class: 'quiet',
              onClick: () => {
                dismiss(notice)
                notice.action?.run()
              },
            },
            notice.action.label,
          ),
        html.button(
          { type: 'button', class: 'quiet icon-only', 'aria-label': say('Dismiss'), onClick: () => dismiss(notice) },
          '×',
        ),
      ),
    ),
  )
}
