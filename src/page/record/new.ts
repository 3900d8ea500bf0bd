import { h } from 'preact'
import { recordCrumbs } from '../basics/crumbs.ts'
import { html } from '../basics/html.ts'
import { say } from '../language/say.ts'
import { askedFields, hasLinks, type Model } from '../logic/model.ts'
import type { Raw } from '../logic/raw.ts'
import { Heading } from '../parts/heading.ts'
import { Empty } from '../parts/message.ts'
import { Form } from './form.ts'

const startIn = (query: URLSearchParams, model: Model): Record<string, Raw> =>
  Object.fromEntries(
    askedFields(model).flatMap((field): [string, Raw][] => {
      const text = query.get(field.name)
      return text === null ? [] : [[field.name, hasLinks(field) ? text.split(',') : text]]
    }),
  )

/** Form for a new record; the address may contain initial values. */
export const New = ({ model, query }: { model: Model; query: URLSearchParams }) =>
  model.allowed.create
    ? html.article(
        { class: 'record' },
        h(Heading, { title: say('New {model}', { model: model.title }), crumbs: recordCrumbs(model) }),
        h(Form, { key: String(query), model, start: startIn(query, model), asked: String(query) }),
      )
    : Empty(say('You may not create {model} records', { model: model.title }))
