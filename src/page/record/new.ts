import { h } from 'preact'
import { html } from '../basics/html.ts'
import type { Model } from '../logic/model.ts'
import { Empty } from '../parts/message.ts'
import { Form } from './form.ts'

/** A record that is not there yet. */
export const New = ({ model }: { model: Model }) =>
  model.allowed.create
    ? html.article(
        { class: 'record' },
        html.header({ class: 'title' }, html.h1(null, `New ${model.title}`)),
        h(Form, { model }),
      )
    : Empty(`You may not create ${model.title} records`)
