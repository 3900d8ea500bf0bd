import { h } from 'preact'
import { html } from '../basics/html.ts'
import { useLoaded } from '../basics/loading.ts'
import { recordNames } from '../basics/models.ts'
import { say } from '../language/say.ts'
import { unresolvedReferenceText } from '../logic/raw.ts'
import { Picker } from './picker.ts'

interface LinksProperties {
  /** the referenced model */
  model: string
  /** ids, and perhaps at the end what was typed and names no record yet */
  raw: string[]
  label: string
  id: string
  describedBy?: string | undefined
  isInvalid: boolean
  onRaw(raw: string[]): void
}

/** Input for several references: a chip for each record, and a picker that adds one. */
export function LinksInput({ model, raw, label, id, describedBy, isInvalid, onRaw }: LinksProperties) {
  const ids = raw.filter((one) => unresolvedReferenceText(one) === undefined)
  const [typed = ''] = raw.filter((one) => !ids.includes(one))
  const { value: names } = useLoaded(() => recordNames(model, ids), [model, ids])
  const nameOf = (one: string) => names?.get(one) ?? `#${one}`
  return html.div(
    {
      class: 'links',
      role: 'group',
      'aria-label': label,
      onKeyDown: ({ key, target, repeat, isComposing }: KeyboardEvent) => {
        const isEmpty = target instanceof HTMLInputElement && target.value === ''
        // Held down to delete what was typed, it leaves alone what was chosen.
        if (key === 'Backspace' && isEmpty && !repeat && !isComposing) onRaw(ids.slice(0, -1))
      },
    },
    ids.length > 0 &&
      html.ul(
        { class: 'chips', 'aria-label': say('{label}: chosen', { label }) },
        ids.map((one, at) =>
          html.li(
            { key: one, class: 'chip' },
            html.span(null, nameOf(one)),
            html.button(
              {
                type: 'button',
                class: 'quiet icon-only',
                'aria-label': say('Remove {label}', { label: nameOf(one) }),
                onClick: ({ currentTarget }) => {
                  const input = currentTarget.closest('.links')
                  onRaw(raw.filter((other) => other !== one))
                  // The focus goes on to the next one, which takes its place.
                  setTimeout(() => {
                    const next = input?.querySelectorAll<HTMLElement>('.chip button')[at]
                    const last = input?.querySelector<HTMLElement>('input')
                    ;(next ?? last)?.focus()
                  })
                },
              },
              '×',
            ),
          ),
        ),
      ),
    h(Picker, {
      model,
      value: typed,
      label,
      id,
      describedBy,
      isInvalid,
      without: ids,
      onValue: (value) => onRaw(value === '' || ids.includes(value) ? ids : [...ids, value]),
    }),
  )
}
