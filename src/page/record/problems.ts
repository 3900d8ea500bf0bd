import { html } from '../basics/html.ts'
import type { Field } from '../logic/model.ts'
import { Fault } from '../parts/message.ts'

interface ProblemsProperties {
  text: string | undefined
  /** by field */
  faults: Record<string, string>
  fields: Field[]
}

/** What is wrong with a form, summed up above it; each leads to its field. */
export function Problems({ text, faults, fields }: ProblemsProperties) {
  if (text === undefined) return null
  const wrong = Object.entries(faults)
  const titleOf = (name: string) => fields.find((field) => field.name === name)?.title ?? name
  return Fault([
    html.p(null, text),
    wrong.length > 0 &&
      html.ul(
        null,
        wrong.map(([name, message]) =>
          html.li({ key: name }, html.a({ href: location.hash, onClick: jumpTo(name) }, titleOf(name)), ` ${message}`),
        ),
      ),
  ])
}

/** What was typed into a record that is not there any more is worth another one. */
export const GoneMeanwhile = ({ canCreate, onAnew }: { canCreate: boolean; onAnew(): void }) =>
  Fault([
    html.p(null, 'This record was deleted while you were writing. What you typed is still here.'),
    canCreate && html.button({ type: 'button', onClick: onAnew }, 'Create it anew with what I typed'),
  ])

const jumpTo = (name: string) => (event: Event) => {
  event.preventDefault()
  document.getElementById(`field-${name}`)?.focus()
}
