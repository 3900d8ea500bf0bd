import { useSignal } from '@preact/signals'
import { to, withQuery } from '../basics/address.ts'
import { html } from '../basics/html.ts'
import { parsed } from '../basics/parsed.ts'
import { person } from '../basics/session.ts'
import type { Model } from '../logic/model.ts'

interface View {
  name: string
  query: string
}

/** Named combinations of filters, columns and order, stored in this browser. To share one, send its address. */
export function Views({ model, query }: { model: Model; query: URLSearchParams }) {
  const key = `dossier-views/${person.value?.username}/${model.model}`
  const views = useSignal<View[]>(parsed(localStorage.getItem(key)) ?? [])
  const name = useSignal('')
  const keep = (next: View[]) => {
    views.value = next
    localStorage.setItem(key, JSON.stringify(next))
  }
  return html.div(
    { class: 'views' },
    views.value.length === 0 && html.p({ class: 'hint' }, 'None yet. A view keeps filters, columns and order.'),
    views.value.map((view) =>
      html.div(
        { key: view.name, class: 'line' },
        html.a({ href: withQuery(to('m', model.model), new URLSearchParams(view.query)) }, view.name),
        html.button(
          {
            type: 'button',
            class: 'quiet icon',
            'aria-label': `Remove the view ${view.name}`,
            onClick: () => keep(views.value.filter((one) => one !== view)),
          },
          '×',
        ),
      ),
    ),
    html.form(
      {
        class: 'line',
        onSubmit: (event: Event) => {
          event.preventDefault()
          if (name.value.trim() === '') return
          const view = { name: name.value.trim(), query: String(query) }
          keep([...views.value.filter((one) => one.name !== view.name), view])
          name.value = ''
        },
      },
      html.input({
        type: 'text',
        placeholder: 'Name of this view',
        'aria-label': 'Name of this view',
        maxLength: 60,
        value: name.value,
        onInput: ({ currentTarget }) => {
          name.value = currentTarget.value
        },
      }),
      html.button({ type: 'submit' }, 'Save'),
    ),
  )
}
