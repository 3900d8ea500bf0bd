import { useSignal } from '@preact/signals'
import { h } from 'preact'
import { request } from '../basics/api.ts'
import { html } from '../basics/html.ts'
import { useLoaded } from '../basics/loading.ts'
import { say } from '../language/say.ts'
import { curlFor } from '../logic/curl.ts'
import { type Document, type Operation, operationsIn } from '../logic/openapi.ts'
import { Copyable } from '../parts/curl.ts'
import { Heading } from '../parts/heading.ts'
import { renderLoaded } from '../parts/message.ts'

/** API reference, built from the OpenAPI document of the service. */
export function Reference() {
  const wanted = useSignal('')
  const loaded = useLoaded(async () => operationsIn((await request('GET', '/openapi.json')) as unknown as Document))
  return html.article(
    { class: 'record' },
    h(Heading, { title: say('API') }, html.a({ class: 'button', href: '/openapi.json' }, 'openapi.json')),
    html.input({
      type: 'search',
      placeholder: say('Search'),
      'aria-label': say('Search the reference'),
      value: wanted.value,
      onInput: ({ currentTarget }) => {
        wanted.value = currentTarget.value
      },
    }),
    renderLoaded(loaded, (operations) => {
      const words = wanted.value.trim().toLowerCase().split(/\s+/)
      const found = operations.filter(({ method, path, summary }) =>
        words.every((word) => `${method} ${path} ${summary}`.toLowerCase().includes(word)),
      )
      return html.div(
        null,
        [...Map.groupBy(found, ({ tag }) => tag)].map(([tag, some]) =>
          html.section(
            { key: tag, class: 'part' },
            html.h2(null, tag),
            some.map((operation) => h(Described, { key: `${operation.method} ${operation.path}`, operation })),
          ),
        ),
        found.length === 0 && html.p({ class: 'hint' }, say('No match')),
      )
    }),
  )
}

/** An operation; its details are rendered only while it is open. */
function Described({ operation }: { operation: Operation }) {
  const isOpen = useSignal(false)
  const { method, path, summary, parameters, example } = operation
  return html.details(
    {
      onToggle: ({ currentTarget }) => {
        isOpen.value = currentTarget.open
      },
    },
    html.summary(null, html.code(null, `${method} ${path}`), html.span({ class: 'hint' }, ` ${summary}`)),
    isOpen.value &&
      html.div(
        { class: 'form' },
        h(Copyable, {
          text: curlFor(location.origin, path, { method, ...(example !== undefined && { body: example }) }),
        }),
        parameters.length > 0 &&
          html.dl(
            { class: 'keys' },
            parameters.map(({ name, in: where, description }) => [
              html.dt({ key: name }, html.code(null, name)),
              html.dd(null, `${description}${where === 'query' ? '' : ` (${where})`}`),
            ]),
          ),
      ),
  )
}
