import { useSignal } from '@preact/signals'
import { h } from 'preact'
import { request, requestOne } from '../basics/api.ts'
import { html } from '../basics/html.ts'
import { useLoaded } from '../basics/loading.ts'
import { reader } from '../basics/reader.ts'
import { formatMoment } from '../logic/values.ts'
import { Action } from './action.ts'
import { checkBox } from './check-box.ts'
import { Copyable } from './curl.ts'
import { shown } from './message.ts'
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
    notify(`The token ${ended} is of no use any more.`)
    loaded.again()
  }
  return html.div(
    { class: 'form' },
    shown(loaded, (tokens) =>
      tokens.length === 0
        ? html.p({ class: 'hint' }, 'None yet.')
        : html.ul(
            { class: 'plain' },
            tokens.map((token) =>
              html.li(
                { key: token.id, class: 'line' },
                html.span(
                  null,
                  html.strong(null, token.name),
                  html.span(
                    { class: 'hint' },
                    `${token.readOnly ? ' only reads,' : ''} until ${formatMoment(token.expires, reader.value)}, `,
                    token.lastUsed === null ? 'never used' : `last used ${formatMoment(token.lastUsed, reader.value)}`,
                  ),
                ),
                h(Action, { run: () => end(token) }, 'End'),
              ),
            ),
          ),
    ),
    made.value !== undefined &&
      html.div(
        { class: 'others', role: 'status' },
        html.p(null, 'This is the token. It is shown only this once:'),
        h(Copyable, { text: made.value }),
      ),
    h(TextField, { label: 'Name of a new token', text: name, hint: 'What it is for, such as: nightly export' }),
    h(TextField, { label: 'Days until it ends', text: days }),
    checkBox('It may only read', readOnly),
    html.footer(null, h(Action, { run: make }, 'Make a token')),
  )
}
