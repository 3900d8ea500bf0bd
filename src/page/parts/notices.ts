import { signal } from '@preact/signals'
import { html } from '../basics/html.ts'

/** What has just happened, in a corner; an undo may belong to it. */
export interface Notice {
  text: string
  kind: 'done' | 'wrong'
  action?: { label: string; run(): void }
}

const SHOWN_MS = 8000

const notices = signal<Notice[]>([])

export function tell(text: string, action?: Notice['action']): void {
  add({ text, kind: 'done', ...(action && { action }) })
}

export function complain(error: unknown): void {
  add({ text: error instanceof Error ? error.message : String(error), kind: 'wrong' })
}

function add(notice: Notice): void {
  notices.value = [...notices.value.slice(-3), notice]
  setTimeout(() => dismiss(notice), SHOWN_MS)
}

function dismiss(notice: Notice): void {
  notices.value = notices.value.filter((one) => one !== notice)
}

export const Notices = () =>
  html.div(
    { class: 'notices', role: 'status', 'aria-live': 'polite' },
    notices.value.map((notice) =>
      html.div(
        { class: `notice ${notice.kind}` },
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
          { type: 'button', class: 'quiet icon', 'aria-label': 'Dismiss', onClick: () => dismiss(notice) },
          '×',
        ),
      ),
    ),
  )
