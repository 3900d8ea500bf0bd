import { useSignal } from '@preact/signals'
import { h } from 'preact'
import { hasErrorCode, request } from '../basics/api.ts'
import { formatSettings } from '../basics/format-settings.ts'
import { html } from '../basics/html.ts'
import { useLoaded } from '../basics/loading.ts'
import { person } from '../basics/session.ts'
import { say } from '../language/say.ts'
import { type Attributes, attributesIn, attributesText } from '../logic/attributes.ts'
import { formatMoment } from '../logic/values.ts'
import { Action } from '../parts/action.ts'
import { Confirm, Dialog } from '../parts/dialog.ts'
import { headRow } from '../parts/head-row.ts'
import { Heading } from '../parts/heading.ts'
import { renderLoaded } from '../parts/message.ts'
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

const ATTRIBUTES_HINT = say('What rules of models compare with: regions=north,south; limit=5')
const ATTRIBUTES_FAULT = say('Each is a name and its value: regions=north,south')

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
      { title: say('Users') },
      html.button(
        {
          type: 'button',
          class: 'main',
          onClick: () => {
            open.value = 'new'
          },
        },
        say('Add somebody'),
      ),
    ),
    renderLoaded(loaded, (users) =>
      html.div(
        { class: 'scrolls', tabIndex: 0, role: 'region', 'aria-label': say('Users') },
        html.table(
          null,
          headRow([say('Name'), say('Roles'), say('Attributes'), say('Last login'), say('State')]),
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
                html.td(
                  null,
                  user.lastLogin === null ? say('never') : formatMoment(user.lastLogin, formatSettings.value),
                ),
                html.td(null, user.enabled ? (user.hasPassword ? '' : say('tokens only')) : say('disabled')),
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
    notify(say('{username} can come in.', { username: data.username }))
    onClose()
  }
  return h(
    Dialog,
    { title: say('Add somebody'), onClose },
    html.div(
      { class: 'form' },
      h(TextField, { label: say('Username'), text: username, isFirst: true }),
      h(TextField, {
        label: say('Password'),
        text: password,
        type: 'password',
        autocomplete: 'new-password',
        hint: say('At least 10 characters; none for a program that comes in by tokens only'),
      }),
      h(RolesInput, { roles }),
      h(TextField, { label: say('Attributes'), text: attributes, hint: ATTRIBUTES_HINT, fault: attributesFault.value }),
      html.footer(
        null,
        html.button({ type: 'button', onClick: onClose }, say('Cancel')),
        h(Action, { class: 'main', run: add }, say('Add')),
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
    if (parsed) await change({ attributes: parsed }, say('The attributes count from the next request on.'))
  }
  const remove = () =>
    request('DELETE', userPath(user.username))
      .catch(explained)
      .then(() => {
        notify(say('{username} is removed. Records go on naming them.', { username: user.username }))
        onClose()
      })
      .catch(notifyError)
  if (isRemoving.value)
    return h(Confirm, {
      title: say('Remove {username}?', { username: user.username }),
      text: say(
        'Their sessions and tokens end at once. What they have written stays, under their name. To keep them out for a while, disable them instead.',
      ),
      action: say('Remove'),
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
          { run: () => change({ roles: roles.value }, say('The roles count from the next request on.')) },
          say('Set the roles'),
        ),
      ),
      h(TextField, {
        label: say('Attributes'),
        text: attributes,
        hint: ATTRIBUTES_HINT,
        fault: attributesFault.value,
      }),
      html.footer(null, h(Action, { run: setAttributes }, say('Set the attributes'))),
      h(TextField, { label: say('New password'), text: password, type: 'password', autocomplete: 'new-password' }),
      html.footer(
        null,
        h(
          Action,
          {
            run: () => change({ password: password.value }, say('The password is set, and their sessions have ended.')),
          },
          say('Set the password'),
        ),
      ),
    ),
    html.h3(null, say('See as')),
    isSeen.value
      ? h(SeeAs, { username: user.username })
      : html.button(
          {
            type: 'button',
            onClick: () => {
              isSeen.value = true
            },
          },
          say('See what {username} sees', { username: user.username }),
        ),
    html.h3(null, say('Sessions')),
    h(Sessions, { path: `${userPath(user.username)}/sessions`, isOwn: isOneself }),
    html.h3(null, say('Tokens')),
    h(Tokens, { path: isOneself ? '/ws/me/tokens' : `${userPath(user.username)}/tokens` }),
    html.footer(
      null,
      h(
        Action,
        {
          run: () =>
            change(
              { enabled: !user.enabled },
              user.enabled ? say('They are kept out.') : say('They can come in again.'),
            ),
        },
        user.enabled ? say('Disable') : say('Enable'),
      ),
      html.button(
        {
          type: 'button',
          class: 'danger',
          onClick: () => {
            isRemoving.value = true
          },
        },
        say('Remove'),
      ),
    ),
  )
}

/** Adds advice to the refusal to remove or disable the last admin. */
function explained(error: unknown): never {
  if (!hasErrorCode(error, 'LAST_ADMIN')) throw error
  const { message } = error
  throw new Error(
    say('{message} Nobody could change anything here any more: make somebody else an admin first.', { message }),
  )
}
