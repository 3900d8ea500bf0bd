import { useSignal } from '@preact/signals'
import { h } from 'preact'
import { request } from '../basics/api.ts'
import { chooseLocale, chooseZone, formatSettings, locale, locales, zone, zones } from '../basics/format-settings.ts'
import { html } from '../basics/html.ts'
import { hasLetterKeys, setLetterKeys } from '../basics/keys.ts'
import { person } from '../basics/session.ts'
import { chooseLanguage, LANGUAGES, type Language, language, say } from '../language/say.ts'
import { formatMoment, formatValue } from '../logic/values.ts'
import { Action } from '../parts/action.ts'
import { Heading } from '../parts/heading.ts'
import { notify } from '../parts/notices.ts'
import { Sessions } from '../parts/sessions.ts'
import { TextField } from '../parts/text-field.ts'
import { Tokens } from '../parts/tokens.ts'

/** The user's own password, sessions and tokens. */
export function Me() {
  const { username, roles } = person.value ?? { username: '', roles: [] }
  return html.article(
    { class: 'record' },
    h(Heading, {
      title: username,
      about: roles.length === 0 ? say('no roles') : say('roles: {roles}', { roles: roles.join(', ') }),
    }),
    html.section({ class: 'part' }, html.h2(null, say('How you read')), h(Reading, null)),
    html.section({ class: 'part' }, html.h2(null, say('Password')), h(Password, null)),
    html.section(
      { class: 'part' },
      html.h2(null, say('Sessions')),
      h(Sessions, { path: '/ws/me/sessions', isOwn: true }),
    ),
    html.section({ class: 'part' }, html.h2(null, say('Tokens for scripts')), h(Tokens, { path: '/ws/me/tokens' })),
  )
}

/** Language, time zone, dates and numbers, and keys; kept in this browser. */
function Reading() {
  const choice = <One extends string>(
    label: string,
    now: One,
    choices: One[],
    choose: (one: One) => void,
    titles?: Record<One, string>,
  ) =>
    html.label(
      { class: 'field' },
      html.span({ class: 'name' }, label),
      html.select(
        { onChange: ({ currentTarget }) => choose(currentTarget.value as One) },
        choices.map((one) => html.option({ key: one, value: one, selected: one === now }, titles?.[one] ?? one)),
      ),
    )
  const example = `${formatMoment(new Date().toISOString(), formatSettings.value)} · ${formatValue({ type: 'number' }, 12345.67, formatSettings.value)}`
  return html.div(
    { class: 'form' },
    choice(say('Language of the page'), language, Object.keys(LANGUAGES) as Language[], chooseLanguage, LANGUAGES),
    choice(say('Times are in'), zone.value, zones, chooseZone),
    choice(say('Dates and numbers as in'), locale.value, locales, chooseLocale),
    html.p({ class: 'hint' }, example),
    html.label(
      null,
      html.input({
        type: 'checkbox',
        checked: hasLetterKeys.value,
        onChange: ({ currentTarget }) => setLetterKeys(currentTarget.checked),
      }),
      ' ',
      say('Single letters are keys: n for a new record, e to edit, / to search'),
    ),
  )
}

function Password() {
  const current = useSignal('')
  const next = useSignal('')
  const change = async () => {
    await request('POST', '/ws/me/password', { body: { data: { current: current.value, next: next.value } } })
    current.value = ''
    next.value = ''
    notify(say('Your password is changed. Your other sessions have ended.'))
  }
  return html.div(
    { class: 'form' },
    h(TextField, { label: say('Now'), text: current, type: 'password', autocomplete: 'current-password' }),
    h(TextField, {
      label: say('New'),
      text: next,
      type: 'password',
      autocomplete: 'new-password',
      hint: say('At least 10 characters'),
    }),
    html.footer(null, h(Action, { run: change }, say('Change the password'))),
  )
}
