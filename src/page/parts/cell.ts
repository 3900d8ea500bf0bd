import { h } from 'preact'
import { to } from '../basics/address.ts'
import { html } from '../basics/html.ts'
import { useLoaded } from '../basics/loading.ts'
import { modelNamed } from '../basics/models.ts'
import { zone } from '../basics/zone.ts'
import { displayName, type Field, type Row } from '../logic/model.ts'
import { formatValue, NOTHING } from '../logic/values.ts'

interface CellProperties {
  field: Field
  value: unknown
  /** as text alone, where a link would be inside of another */
  plain?: boolean
}

/** A value for people: references by name, times in the page's zone. */
export function Cell({ field, value, plain }: CellProperties) {
  if (field.reference !== undefined && typeof value === 'object' && value !== null)
    return h(Referred, { model: field.reference, row: value as Row, plain })
  // Of a record that one may not read only the number is known.
  if (field.reference !== undefined && typeof value === 'number')
    return html.span({ title: 'out of your reach' }, `#${value}`)
  const text = formatValue(field, value, zone.value)
  if (text === NOTHING) return html.span({ class: 'nothing', 'aria-label': 'nothing' }, NOTHING)
  if (!plain && field.format === 'email') return html.a({ href: `mailto:${encodeURI(text)}` }, text)
  // Only what leads to another page: a script may be written as an address, too.
  if (!plain && field.format === 'uri' && /^https?:\/\//i.test(text))
    return html.a({ href: text, rel: 'noreferrer noopener', target: '_blank' }, text)
  return html.span(null, text)
}

interface ReferredProperties {
  model: string
  row: Row
  plain?: boolean | undefined
}

/** A record that another one refers to. */
export function Referred({ model: name, row, plain }: ReferredProperties) {
  const { value: model } = useLoaded(() => modelNamed(name), [name])
  const text = displayName(row, model)
  return plain ? html.span(null, text) : html.a({ href: to('m', name, row.id) }, text)
}
