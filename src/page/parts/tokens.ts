import { useSignal } from '@preact/signals'
import { h } from 'preact'
import { request, requestOne } from '../basics/api.ts'
import { formatSettings } from '../basics/format-settings.ts'
import { html } from '../basics/html.ts'
import { useLoaded } from '../basics/loading.ts'
import { say } from '../language/say.ts'
import { formatMoment } from '../logic/values.ts'
import { Action } from './action.ts'
import { checkBox } from './check-box.ts'
import { Copyable } from './curl.ts'
import { renderLoaded } from './message.ts'
import { notify } from './notices.ts'
import { TextField } from './text-field.ts'

interface Token {
  id: number
  name: string
  readOnly: boolean
  createdOn: string
  expires: string
  lastUsed: string | null
  /** only in the answer that creates it */
  token?: string
}

const useOf = ({ readOnly, expires, lastUsed }: Token): string =>
  [
    ...(readOnly ? [say('only reads')] : []),
    say('until {at}', { at: formatMoment(expires, formatSettings.value) }),
    lastUsed === null ? say('never used') : say('last used {at}', { at: formatMoment(lastUsed, formatSettings.value) }),
  ].join(', ')

/** API tokens of the user or of another one: lists, creates and ends them. */
export function Tokens({ path }: { path: string }) {
  const loaded = useLoaded(async () => (await request<Token>('GET', path)).data, [path])
  const name = useSignal('')
  const days = useSignal('90')
  const readOnly = useSignal(false)
  const made = useSignal<string | undefined>(undefined)
  const make = async () => {
    const data = {
      name: name.value.trim(),
      readOnly: readOnly.value,
      ...(days.value.trim() !== '' && { days: Number(days.value) }),
    }
    const { token } = await requestOne<Token>('PUT', path, { body: { data } })
    made.value = token
    name.value = ''
    loaded.again()
  }
  const end = async ({ id, name: ended }: Token) => {
    await request('DELETE', `${path}/${id}`)
    notify(say('The token {name} is of no use any more.', { name: ended }))
    loaded.again()
  }
  return html.div(
    { class: 'form' },
    renderLoaded(loaded, (tokens) =>
      tokens.length === 0
        ? html.p({ class: 'hint' }, say('None yet.'))
        : html.ul(
            { class: 'plain' },
            tokens.map((token) =>
              html.li(
                { key: token.id, class: 'line' },
                html.span(null, html.strong(null, token.name), html.span({ class: 'hint' }, ` ${useOf(token)}`)),
                h(Action, { run: () => end(token) }, say('End')),
              ),
            ),
          ),
    ),
    made.value !== undefined &&
      html.div(
        { class: 'others', role: 'status' },
        html.p(null, say('This is the token. It is shown only this once:')),
        h(Copyable, { text: made.value }),
      ),
    h(TextField, {
      label: say('Name of a new token'),
      text: name,
      hint: say('What it is for, such as: nightly export'),
    }),
    h(TextField, { label: say('Days until it ends'), text: days }),
    checkBox(say('It may only read'), readOnly),
    html.footer(null, h(Action, { run: make }, say('Make a token'))),
  )
}
