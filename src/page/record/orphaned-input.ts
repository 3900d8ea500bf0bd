import { html } from '../basics/html.ts'
import { say } from '../language/say.ts'
import type { Raw } from '../logic/raw.ts'

interface OrphanedInputProperties {
  items: { name: string; raw: Raw }[]
  onForget(name: string): void
}

/** Input for fields that the changed model no longer has: the user can still read and copy it. */
export function OrphanedInput({ items, onForget }: OrphanedInputProperties) {
  if (items.length === 0) return null
  return html.section(
    { class: 'left-over', role: 'status' },
    html.h2(null, say('The model has changed')),
    html.p(null, say('These fields are gone, or have become something else. What you typed there is not saved:')),
    html.dl(
      null,
      items.map(({ name, raw }) => [
        html.dt({ key: name }, name),
        html.dd(
          null,
          html.code(null, typeof raw === 'string' ? raw : JSON.stringify(raw)),
          html.button({ type: 'button', class: 'quiet', onClick: () => onForget(name) }, say('Drop it')),
        ),
      ]),
    ),
  )
}
