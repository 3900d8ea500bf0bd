import { h } from 'preact'
import { classes, html } from '../basics/html.ts'
import { say, sayParts } from '../language/say.ts'
import { type Draft, rawIn } from '../logic/draft.ts'
import type { Field, Row } from '../logic/model.ts'
import { type InputKind, inputKind, type Raw } from '../logic/raw.ts'
import { Input, inputHint } from '../parts/input.ts'
import { Value } from '../parts/value.ts'

interface FieldInputProperties {
  field: Field
  draft: Draft
  fault: string | undefined
  /** current record, if another user has changed this field */
  theirs: Row | undefined
  /** who changed it, if known */
  author: string | null | undefined
  onRaw(raw: Raw): void
}

/** Inputs that need the whole width. */
const isBroad = (kind: InputKind) => ['long', 'json', 'group', 'list', 'references'].includes(kind)

/** A field of a form: title, input, hint, fault, and the value that another user has saved meanwhile. */
export function FieldInput({ field, draft, fault, theirs, author, onRaw }: FieldInputProperties) {
  const id = `field-${field.name}`
  const isSecret = field.writeOnly ?? false
  const hint =
    isSecret && draft.base
      ? say('Never shown; what stands there now stays if you leave this empty.')
      : (field.description ?? inputHint(field, draft.zone))
  const noteIds = [hint && `${id}-hint`, fault && `${id}-fault`, theirs && `${id}-theirs`].filter(Boolean).join(' ')
  const kind = inputKind(field)
  const hasLabel = !['group', 'choices', 'list'].includes(kind)
  const name = classes('name', field.required && 'required')
  return html.div(
    { class: classes('field', isBroad(kind) && 'broad', fault !== undefined && 'wrong', theirs && 'changed') },
    hasLabel ? html.label({ class: name, for: id }, field.title) : html.span({ class: name }, field.title),
    h(Input, {
      schema: field,
      raw: rawIn(draft, field),
      id,
      label: field.title,
      isRequired: field.required,
      isSecret,
      isInvalid: fault !== undefined,
      describedBy: noteIds || undefined,
      onRaw,
    }),
    hint && html.span({ class: 'hint', id: `${id}-hint` }, hint),
    fault !== undefined && html.span({ class: 'why', id: `${id}-fault` }, fault),
    theirs &&
      html.span(
        { class: 'theirs', id: `${id}-theirs` },
        sayParts('{who} has set this to: {value}', {
          who: author ?? say('Somebody'),
          value: h(Value, { field, value: theirs[field.name] }),
        }),
      ),
  )
}
