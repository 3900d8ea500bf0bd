import { h } from 'preact'
import { to } from '../basics/address.ts'
import { html } from '../basics/html.ts'
import { useLoaded } from '../basics/loading.ts'
import { countReferring, findReferenceFields, type ReferenceField } from '../basics/referring.ts'
import type { Model, Row } from '../logic/model.ts'
import { formatCount } from '../logic/values.ts'

/** Links to the records that refer to a record: a customer's orders, an order's lines. */
export function Referring({ model, record }: { model: Model; record: Row }) {
  const { value: ways = [] } = useLoaded(() => findReferenceFields(model.model), [model.model])
  if (ways.length === 0) return null
  return html.section(
    { class: 'part' },
    html.h2(null, 'What refers to it'),
    html.ul(
      { class: 'plain' },
      ways.map((way) => html.li({ key: `${way.model.model} ${way.field.name}` }, h(Line, { ...way, id: record.id }))),
    ),
  )
}

function Line({ model, field, id }: ReferenceField & { id: number }) {
  const { value: total } = useLoaded(
    async () => (model.allowed.read ? countReferring({ model, field }, [id]) : undefined),
    [model.model, field.name, id],
  )
  const query = `?${field.name}=${id}`
  return html.div(
    { class: 'line' },
    html.span(
      null,
      model.allowed.read ? html.a({ href: to('m', model.model) + query }, model.title) : model.title,
      html.span({ class: 'hint' }, ` as ${field.title}${total === undefined ? '' : `: ${formatCount(total)}`}`),
    ),
    model.allowed.create &&
      !field.readOnly &&
      html.a({ class: 'button', href: to('m', model.model, 'new') + query }, 'New'),
  )
}
