import { DossierError, hasErrorCode } from '../basics/api.ts'
import { html } from '../basics/html.ts'
import { say, sayForms } from '../language/say.ts'
import { faultsByField } from '../logic/draft.ts'
import type { Field } from '../logic/model.ts'
import { Fault } from '../parts/message.ts'

interface ProblemsProperties {
  text: string | undefined
  /** by field */
  faults: Record<string, string>
  fields: Field[]
}

/** Splits an error of the service into a summary and faults by field, as far as it names fields. */
export function explain(
  error: unknown,
  fields: Field[],
  errors = error instanceof DossierError ? error.errors : {},
  /** fields that are shown as wrong elsewhere: in the rows of related records */
  elsewhere = 0,
): { text: string; faults: Record<string, string> } {
  const { own, others } = faultsByField(errors, fields)
  const count = Object.keys(own).length + elsewhere
  const isByField = count > 0 && others.length === 0 && hasErrorCode(error, 'VALIDATION_FAILED')
  const wrong = sayForms(count, 'Not saved: one field is not right.', 'Not saved: {count} fields are not right.', {
    count,
  })
  return { text: isByField ? wrong : [(error as Error).message, ...others].join(' '), faults: own }
}

/** Summary of faults above a form, with links to their fields. */
export function Problems({ text, faults, fields }: ProblemsProperties) {
  if (text === undefined) return null
  const wrong = Object.entries(faults)
  const fieldTitle = (name: string) => fields.find((field) => field.name === name)?.title ?? name
  return Fault([
    html.p(null, text),
    wrong.length > 0 &&
      html.ul(
        null,
        wrong.map(([name, message]) =>
          html.li(
            { key: name },
            html.a({ href: location.hash, onClick: jumpTo(name) }, fieldTitle(name)),
            ` ${message}`,
          ),
        ),
      ),
  ])
}

/** Offers to create a new record from the input for one that was deleted meanwhile. */
export const GoneMeanwhile = ({ canCreate, onAnew }: { canCreate: boolean; onAnew(): void }) =>
  Fault([
    html.p(
      null,
      say('This record was deleted while you were writing, or is out of your reach now. What you typed is still here.'),
    ),
    canCreate && html.button({ type: 'button', onClick: onAnew }, say('Create it anew with what I typed')),
  ])

const jumpTo = (name: string) => (event: Event) => {
  event.preventDefault()
  document.getElementById(`field-${name}`)?.focus()
}
