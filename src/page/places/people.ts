import { useSignal } from '@preact/signals'
import { h } from 'preact'
import { isRefusal, request } from '../basics/api.ts'
import { html } from '../basics/html.ts'
import { useLoaded } from '../basics/loading.ts'
import { reader } from '../basics/reader.ts'
import { person } from '../basics/session.ts'
import { type Attributes, attributesIn, attributesText } from '../logic/attributes.ts'
import { formatMoment } from '../logic/values.ts'
import { Action } from '../parts/action.ts'
import { Confirm, Dialog } from '../parts/dialog.ts'
import { headRow } from '../parts/head-row.ts'
import { Heading } from '../parts/heading.ts'
import { shown } from '../parts/message.ts'
import { notify, notifyError } from '../parts/notices.ts'
import { Sessions } from '../parts/sessions.ts'
import { TextField } from '../parts/text-field.ts'
import { Tokens } from '../parts/tokens.ts'
import { RolesInput } from './roles-input.ts'
import { SeeAs } from './see-as.ts'

export interface User {
  username: string
  roles: string[]
  attributes: Attributes
  enabled: boolean
  createdOn: string
  lastLogin: string | null
  hasPassword: boolean
}

const userPath = (username: string) => `/ws/users/${encodeURIComponent(username)}`

const ATTRIBUTES_HINT = 'What rules of models compare with: regions=north,south; limit=5'
const ATTRIBUTES_FAULT = 'Each is a name and its value: regions=north,south'

/** User administration, for admins. */
export function People() {
  const loaded = useLoaded(async () => (await request<User>('GET', '/ws/users')).data)
  const open = useSignal<User | 'new' | undefined>(undefined)
  const close = () => {
    open.value = undefined
    loaded.again()
  }
  return html.section(
    null,
    h(
      Heading,
      { title: 'Users' },
      html.button(
        {
          type: 'button',
          class: 'main',
          onClick: () => {
            open.value = 'new'
          },
        },
        'Add somebody',
      ),
    ),
    shown(loaded, (users) =>
      html.div(
        { class: 'scrolls', tabIndex: 0, role: 'region', 'aria-label': 'Users' },
        html.table(
          null,
          headRow(['Name', 'Roles', 'Attributes', 'Last login', 'State']),
          html.tbody(
            null,
            users.map((user) =>
              html.tr(
                { key: user.username },
                html.td(
                  null,
                  html.button(
                    {
                      type: 'button',
                      class: 'quiet',
                      onClick: () => {
                        open.value = user
                      },
                    },
                    user.username,
                  ),
                ),
                html.td(null, user.roles.join(', ')),
                html.td(null, attributesText(user.attributes)),
                html.td(null, user.lastLogin === null ? 'never' : formatMoment(user.lastLogin, reader.value)),
                html.td(null, user.enabled ? (user.hasPassword ? '' : 'tokens only') : 'disabled'),
              ),
            ),
          ),
        ),
      ),
    ),
    open.value === 'new' && h(Add, { onClose: close }),
    open.value !== undefined && open.value !== 'new' && h(Change, { user: open.value, onClose: close }),
  )
}

function Add({ onClose }: { onClose(): void }) {
  const username = useSignal('')
  const password = useSignal('')
  const roles = useSignal<string[]>([])
  const attributes = useSignal('')
  const attributesFault = useSignal<string | undefined>(undefined)
  const add = async () => {
    const known = attributesIn(attributes.value)
    attributesFault.value = known ? undefined : ATTRIBUTES_FAULT
    if (!known) return
    const data = {
      username: username.value.trim(),
      roles: roles.value,
      attributes: known,
      ...(password.value !== '' && { password: password.value }),
    }
    await request('PUT', '/ws/users', { body: { data } })
    notify(`${data.username} can come in.`)
    onClose()
  }
  return h(
    Dialog,
    { title: 'Add somebody', onClose },
    html.div(
      { class: 'form' },
      h(TextField, { label: 'Username', text: username, isFirst: true }),
      h(TextField, {
        label: 'Password',
        text: password,
        type: 'password',
        autocomplete: 'new-password',
        hint: 'At least 10 characters; none for a program that comes in by tokens only',
      }),
      h(RolesInput, { roles }),
      h(TextField, { label: 'Attributes', text: attributes, hint: ATTRIBUTES_HINT, fault: attributesFault.value }),
      html.footer(
        null,
        html.button({ type: 'button', onClick: onClose }, 'Cancel'),
        h(Action, { class: 'main', run: add }, 'Add'),
      ),
    ),
  )
}

function Change({ user, onClose }: { user: User; onClose(): void }) {
  const roles = useSignal(user.roles)
  const attributes = useSignal(attributesText(user.attributes))
  const attributesFault = useSignal<string | undefined>(undefined)
  const isSeen = useSignal(false)
  const password = useSignal('')
  const isRemoving = useSignal(false)
  const change = async (data: object, done: string) => {
    await request('POST', userPath(user.username), { body: { data } }).catch(explained)
    notify(done)
    onClose()
  }
  const setAttributes = async () => {
    const parsed = attributesIn(attributes.value)
    attributesFault.value = parsed ? undefined : ATTRIBUTES_FAULT
    if (parsed) await change({ attributes: parsed }, 'The attributes count from the next request on.')
  }
  const remove = () =>
    request('DELETE', userPath(user.username))
      .catch(explained)
      .then(() => {
        notify(`${user.username} is removed. Records go on naming them.`)
        onClose()
      })
      .catch(notifyError)
  if (isRemoving.value)
    return h(Confirm, {
      title: `Remove ${user.username}?`,
      text: 'Their sessions and tokens end at once. What they have written stays, under their name. To keep them out for a while, disable them instead.',
      action: 'Remove',
      onConfirm: remove,
      onClose,
    })
  const isOneself = user.username === person.value?.username
  return h(
    Dialog,
    { title: user.username, onClose, wide: true },
    html.div(
      { class: 'form' },
      h(RolesInput, { roles }),
      html.footer(
        null,
        h(
          Action,
          { run: () => change({ roles: roles.value }, 'The roles count from the next request on.') },
          'Set the roles',
        ),
      ),
      h(TextField, {
        label: 'Attributes',
        text: attributes,
        hint: ATTRIBUTES_HINT,
        fault: attributesFault.value,
      }),
      html.footer(null, h(Action, { run: setAttributes }, 'Set the attributes')),
      h(TextField, { label: 'New password', text: password, type: 'password', autocomplete: 'new-password' }),
      html.footer(
        null,
        h(
          Action,
          { run: () => change({ password: password.value }, 'The password is set, and their sessions have ended.') },
          'Set the password',
        ),
      ),
    ),
    html.h3(null, 'See as'),
    isSeen.value
      ? h(SeeAs, { username: user.username })
      : html.button(
          {
            type: 'button',
            onClick: () => {
              isSeen.value = true
            },
          },
          `See what ${user.username} sees`,
        ),
    html.h3(null, 'Sessions'),
    h(Sessions, { path: `${userPath(user.username)}/sessions`, isOwn: isOneself }),
    html.h3(null, 'Tokens'),
    h(Tokens, { path: isOneself ? '/ws/me/tokens' : `${userPath(user.username)}/tokens` }),
    html.footer(
      null,
      h(
        Action,
        {
          run: () =>
            change({ enabled: !user.enabled }, user.enabled ? 'They are kept out.' : 'They can come in again.'),
        },
        user.enabled ? 'Disable' : 'Enable',
      ),
      html.button(
        {
          type: 'button',
          class: 'danger',
          onClick: () => {
            isRemoving.value = true
          },
        },
        'Remove',
      ),
    ),
  )
}

/** Adds advice to the refusal to remove or disable the last admin. */
function explained(error: unknown): never {
  if (!isRefusal(error, 'LAST_ADMIN')) throw error
  throw new Error(`${error.message} Nobody could change anything here any more: make somebody else an admin first.`)
}
