import { h } from 'preact'
import { classes, html } from '../basics/html.ts'
import { zone } from '../basics/zone.ts'
import { type Draft, rawIn } from '../logic/draft.ts'
import type { Field, Row } from '../logic/model.ts'
import { kindOf, type Raw } from '../logic/raw.ts'
import { textOf } from '../logic/values.ts'
import { Input, zoneHint } from '../parts/input.ts'

interface FieldInputProperties {
  field: Field
  draft: Draft
  fault: string | undefined
  /** the record as somebody else has saved it, if they have changed this field */
  theirs: Row | undefined
  onRaw(raw: Raw): void
}

/** One field of a form: its title, its input, and what there is to say of it. */
export function FieldInput({ field, draft, fault, theirs, onRaw }: FieldInputProperties) {
  const id = `field-${field.name}`
  const isSecret = field.writeOnly ?? false
  const hint =
    isSecret && draft.base
      ? 'Never shown; what stands there now stays if you leave this empty.'
      : (field.description ?? zoneHint(field))
  const noteIds = [hint && `${id}-hint`, fault && `${id}-fault`, theirs && `${id}-theirs`].filter(Boolean).join(' ')
  const kind = kindOf(field)
  const isTyped = Object.hasOwn(draft.typed, field.name)
  const hasLabel = !['group', 'choices', 'list'].includes(kind)
  const name = classes('name', field.required && 'required')
  return html.div(
    { class: classes('field', fault !== undefined && 'wrong', theirs && 'changed', isTyped && 'typed') },
    hasLabel ? html.label({ class: name, for: id }, field.title) : html.span({ class: name }, field.title),
    h(Input, {
      schema: field,
      raw: rawIn(draft, field, zone.value),
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
        `${theirs.updatedBy ?? 'Somebody'} has set this to: ${textOf(field, theirs[field.name], zone.value)}`,
      ),
  )
}
