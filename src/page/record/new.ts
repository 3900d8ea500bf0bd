import { h } from 'preact'
import { html } from '../basics/html.ts'
import { listPath } from '../basics/lists.ts'
import { askedFields, type Model } from '../logic/model.ts'
import { Heading } from '../parts/heading.ts'
import { Empty } from '../parts/message.ts'
import { Form } from './form.ts'

const startIn = (query: URLSearchParams, model: Model) =>
  Object.fromEntries([...query].filter(([name]) => askedFields(model).some((field) => field.name === name)))

/** Form for a new record; the address may contain initial values. */
export const New = ({ model, query }: { model: Model; query: URLSearchParams }) =>
  model.allowed.create
    ? html.article(
        { class: 'record' },
        h(Heading, { title: `New ${model.title}`, back: { href: listPath(model.model), text: model.title } }),
        h(Form, { model, start: startIn(query, model) }),
      )
    : Empty(`You may not create ${model.title} records`)
