import { h } from 'preact'
import { to } from '../basics/address.ts'
import { html } from '../basics/html.ts'
import { useLoaded } from '../basics/loading.ts'
import { fetchTotal, modelNamed, modelNames } from '../basics/models.ts'
import { isAdmin } from '../basics/session.ts'
import { formatCount } from '../logic/values.ts'
import { Copyable } from '../parts/curl.ts'
import { Heading } from '../parts/heading.ts'
import { Empty, shown } from '../parts/message.ts'

const EXAMPLE = `{
  "title": "Shirt",
  "type": "object",
  "properties": {
    "name": { "type": "string", "title": "Name" },
    "size": { "type": "string", "title": "Size", "enum": ["S", "M", "L"] }
  },
  "required": ["name"],
  "nameField": "name"
}`

/** All models that the user may use. */
export function Models() {
  return shown(useLoaded(modelNames), (names) =>
    names.length === 0
      ? nothing()
      : html.section(
          null,
          h(Heading, { title: 'Models' }),
          html.ul(
            { class: 'cards' },
            names.map((name) => html.li({ key: name }, h(Card, { name }))),
          ),
        ),
  )
}

const nothing = () =>
  isAdmin.value
    ? Empty(
        'Put a file into models/',
        html.p(null, 'Save this as ', html.code(null, 'models/shop.Shirt.json'), ', and it is served within a second:'),
        h(Copyable, { text: EXAMPLE }),
      )
    : Empty('There is nothing that you may read', html.p(null, 'An admin can give you a role that may.'))

function Card({ name }: { name: string }) {
  const { value: model } = useLoaded(() => modelNamed(name), [name])
  const { value: total } = useLoaded(
    async () => ((await modelNamed(name)).allowed.read ? fetchTotal(name) : undefined),
    [name],
  )
  const rights = Object.entries(model?.allowed ?? {}).filter(([, may]) => may)
  return html.a(
    { class: 'card', href: to('m', name) },
    html.h2(null, model?.title ?? name),
    html.span({ class: 'hint' }, name),
    model?.description !== undefined && html.p(null, model.description),
    html.p(
      { class: 'facts' },
      total !== undefined && html.strong(null, `${formatCount(total)} ${total === 1 ? 'record' : 'records'}`),
      html.span({ class: 'hint' }, rights.length > 0 && `You may ${rights.map(([right]) => right).join(', ')}.`),
    ),
  )
}
