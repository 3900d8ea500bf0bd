import { useSignal } from '@preact/signals'
import { h } from 'preact'
import { go, place, to, withQuery } from '../basics/address.ts'
import { request } from '../basics/api.ts'
import { html } from '../basics/html.ts'
import { useLoaded } from '../basics/loading.ts'
import { modelsOverview } from '../basics/models.ts'
import { say } from '../language/say.ts'
import { pluralOf } from '../logic/model.ts'
import { MODEL_NAME } from '../logic/model-file.ts'
import { Dialog } from '../parts/dialog.ts'
import { headRow } from '../parts/head-row.ts'
import { Heading } from '../parts/heading.ts'
import { lazy } from '../parts/lazy.ts'
import { renderLoaded } from '../parts/message.ts'
import { TextField } from '../parts/text-field.ts'
import type { ModelFile } from './editing.ts'

const ModelEditor = lazy(async () => (await import('./editor.ts')).ModelEditor)
const FromFile = lazy(async () => (await import('./from-file.ts')).FromFile)

/** The models and their files, for admins. */
export function Models() {
  const [, model] = place.value.path
  if (model === undefined) return h(List, null)
  return model === 'from-file' ? h(FromFile, null) : h(ModelEditor, { key: model, model })
}

type Item = Pick<ModelFile, 'model' | 'file' | 'fixed' | 'draft'>

function List() {
  const loaded = useLoaded(async () => {
    const overview = modelsOverview()
    const { data } = await request<Item>('GET', '/ws/models')
    const known = new Map((await overview).map((one) => [one.model, pluralOf(one)]))
    return data.map((one) => ({ ...one, title: known.get(one.model) ?? '' }))
  })
  const isNew = useSignal(false)
  return html.section(
    null,
    h(
      Heading,
      { title: say('Models'), about: say('What records there are, and which fields they have.') },
      html.a({ class: 'button', href: to('models', 'from-file') }, say('New model from a file')),
      html.button(
        {
          type: 'button',
          class: 'main',
          onClick: () => {
            isNew.value = true
          },
        },
        say('New model'),
      ),
    ),
    renderLoaded(loaded, (models) =>
      html.div(
        { class: 'scrolls', tabIndex: 0, role: 'region', 'aria-label': say('Models') },
        html.table(
          null,
          headRow([say('Model'), say('Title'), say('File'), say('State')]),
          html.tbody(
            null,
            models.map(({ model, title, file, fixed, draft }) =>
              html.tr(
                { key: model },
                html.td(null, html.a({ href: to('models', model) }, model)),
                html.td(null, title),
                html.td(null, file || say('none yet')),
                html.td(null, draft ? say('draft by {name}', { name: draft.by }) : (fixed ?? '')),
              ),
            ),
          ),
        ),
      ),
    ),
    isNew.value &&
      h(NewModel, {
        onClose: () => {
          isNew.value = false
        },
      }),
  )
}

function NewModel({ onClose }: { onClose(): void }) {
  const title = useSignal('')
  const name = useSignal('')
  const fault = useSignal<string | undefined>(undefined)
  const begin = () => {
    const wanted = name.value.trim()
    fault.value = MODEL_NAME.test(wanted) ? undefined : say('Write it like shop.Order: the last word with a capital.')
    if (fault.value !== undefined) return
    onClose()
    const asked = new URLSearchParams({ title: title.value.trim() || (wanted.split('.').at(-1) as string) })
    go(withQuery(to('models', wanted), asked))
  }
  return h(
    Dialog,
    { title: say('New model'), onClose },
    html.form(
      {
        class: 'form',
        onSubmit: (event: Event) => {
          event.preventDefault()
          begin()
        },
      },
      h(TextField, { label: say('What one record is called'), text: title, isFirst: true, hint: say('Such as Order') }),
      h(TextField, {
        label: say('Name in the API and in files'),
        text: name,
        hint: say('A group and a name, such as shop.Order'),
        fault: fault.value,
      }),
      html.footer(
        null,
        html.button({ type: 'button', onClick: onClose }, say('Cancel')),
        html.button({ type: 'submit', class: 'main' }, say('Next')),
      ),
    ),
  )
}
