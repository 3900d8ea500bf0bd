import { type Signal, useSignal } from '@preact/signals'
import { request } from '../basics/api.ts'
import { html } from '../basics/html.ts'
import { useLoaded } from '../basics/loading.ts'
import { say } from '../language/say.ts'
import { plural } from '../logic/values.ts'

interface Role {
  role: string
  users: number
  models: string[]
}

/** Chooses among the roles that there are. A new one is added by its own button, so that a typing error is seen. */
export function RolesInput({ roles }: { roles: Signal<string[]> }) {
  const { value: known = [] } = useLoaded(async () => (await request<Role>('GET', '/ws/roles')).data)
  const added = useSignal('')
  const all = [...new Set([...known.map(({ role }) => role), ...roles.value])]
  const about = (name: string) => {
    const role = known.find((one) => one.role === name)
    if (name === 'admin') return say('may do everything')
    if (!role) return say('new: no model names it')
    return [
      role.models.length > 0 ? say('in {models}', { models: role.models.join(', ') }) : say('no model names it'),
      plural(role.users, '{count} user', '{count} users'),
    ].join('; ')
  }
  const add = () => {
    const name = added.value.trim()
    if (name !== '' && !roles.value.includes(name)) roles.value = [...roles.value, name]
    added.value = ''
  }
  return html.fieldset(
    { class: 'group' },
    html.legend(null, say('Roles')),
    html.div(
      { class: 'choices' },
      all.map((name) =>
        html.label(
          { key: name },
          html.input({
            type: 'checkbox',
            checked: roles.value.includes(name),
            onChange: ({ currentTarget }) => {
              const others = roles.value.filter((one) => one !== name)
              roles.value = currentTarget.checked ? [...others, name] : others
            },
          }),
          html.span(null, name, html.span({ class: 'hint' }, ` ${about(name)}`)),
        ),
      ),
    ),
    html.div(
      { class: 'line' },
      html.input({
        type: 'text',
        'aria-label': say('A new role'),
        placeholder: say('A new role'),
        value: added.value,
        onInput: ({ currentTarget }) => {
          added.value = currentTarget.value
        },
        onKeyDown: (event: KeyboardEvent) => {
          if (event.key !== 'Enter') return
          event.preventDefault()
          add()
        },
      }),
      html.button({ type: 'button', onClick: add }, say('Add the role')),
    ),
  )
}
