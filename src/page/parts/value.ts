import { h } from 'preact'
import { formatSettings } from '../basics/format-settings.ts'
import { html } from '../basics/html.ts'
import { useLoaded } from '../basics/loading.ts'
import { recordName, recordNames } from '../basics/models.ts'
import { say } from '../language/say.ts'
import { difference } from '../logic/difference.ts'
import { type Field, isText } from '../logic/model.ts'
import { formatValue, NOTHING } from '../logic/values.ts'

interface ValueProperties {
  field: Field | undefined
  value: unknown
}

/** A value as plain text; a reference as the name of its record. */
export function Value({ field, value }: ValueProperties) {
  if (field?.reference !== undefined && typeof value === 'number')
    return h(Named, { model: field.reference, id: value })
  if (field?.items?.reference !== undefined && Array.isArray(value) && value.length > 0)
    return h(NamedAll, { model: field.items.reference, ids: value })
  return html.span(null, formatValue(field ?? {}, value, formatSettings.value))
}

function NamedAll({ model, ids }: { model: string; ids: number[] }) {
  const { value: names } = useLoaded(() => recordNames(model, ids), [model, ids])
  return html.span(null, ids.map((id) => names?.get(String(id)) ?? `#${id}`).join(', '))
}

function Named({ model, id }: { model: string; id: number }) {
  const { value: name } = useLoaded(() => recordName(model, id), [model, id])
  return html.span(null, name ?? `#${id}`)
}

interface DifferenceProperties {
  field: Field | undefined
  before: unknown
  after: unknown
}

/** Before and after of a value. Texts are compared word by word, other values as a whole. */
export function Difference({ field, before, after }: DifferenceProperties) {
  const isNothing = (value: unknown) => value === null || value === undefined
  if (isText(field) && !field?.titles && typeof before === 'string' && typeof after === 'string')
    return html.span(
      { class: 'text' },
      difference(before, after).map(({ kind, text }) =>
        kind === 'same' ? text : kind === 'added' ? html.ins(null, text) : html.del(null, text),
      ),
    )
  return html.span(
    { class: 'text' },
    !isNothing(before) && [html.del(null, h(Value, { field, value: before })), ' '],
    isNothing(after)
      ? html.span({ class: 'hint' }, isNothing(before) ? NOTHING : say('cleared'))
      : html.ins(null, h(Value, { field, value: after })),
  )
}
