import { useSignal } from '@preact/signals'
import { h } from 'preact'
import { useEffect } from 'preact/hooks'
import { hasErrorCode, requestOne } from '../basics/api.ts'
import { html } from '../basics/html.ts'
import { handleLogin, type Person, person } from '../basics/session.ts'
import { say } from '../language/say.ts'
import { Dialog } from '../parts/dialog.ts'
import { icon } from '../parts/icon.ts'
import { Fault } from '../parts/message.ts'

interface LoginProperties {
  title: string
  /** shown as a dialog over the current page, which stays as it is */
  isOver?: boolean
}

/** Login form; the page stays at its current place. */
export function Login({ title, isOver }: LoginProperties) {
  if (isOver)
    return h(
      Dialog,
      // The dialog cannot be closed without logging in: the page behind needs a session.
      { title, onClose: () => undefined },
      html.p(null, say('Log in again: what you have typed is still there, and you go on where you were.')),
      h(LoginForm, null),
    )
  return html.div({ class: 'login' }, html.h1(null, icon('logo'), title), h(LoginForm, null))
}

function LoginForm() {
  const username = useSignal(person.value?.username ?? '')
  const password = useSignal('')
  const fault = useSignal<string | undefined>(undefined)
  const wait = useSignal(0)
  const isBusy = useSignal(false)
  useEffect(() => {
    if (wait.value === 0) return
    const timer = setTimeout(() => {
      wait.value--
      if (wait.value === 0) fault.value = undefined
    }, 1000)
    return () => clearTimeout(timer)
  }, [wait.value])
  const submit = async (event: Event) => {
    event.preventDefault()
    if (isBusy.value || wait.value > 0) return
    isBusy.value = true
    try {
      const body = { username: username.value, password: password.value }
      handleLogin(await requestOne<Person>('POST', '/callback', { body, asStranger: true }))
    } catch (error) {
      fault.value = (error as Error).message
      if (hasErrorCode(error, 'TOO_MANY_ATTEMPTS')) wait.value = error.retryAfter ?? 0
    } finally {
      isBusy.value = false
    }
  }
  return html.form(
    { class: 'form', onSubmit: submit },
    fault.value !== undefined &&
      Fault(
        wait.value > 0 ? say('Too many failed logins. Try again in {time}.', { time: clock(wait.value) }) : fault.value,
      ),
    html.label(
      { class: 'field' },
      html.span({ class: 'name' }, say('Username')),
      html.input({
        type: 'text',
        name: 'username',
        autocomplete: 'username',
        autoFocus: username.peek() === '',
        value: username.value,
        onInput: ({ currentTarget }) => {
          username.value = currentTarget.value
        },
      }),
    ),
    html.label(
      { class: 'field' },
      html.span({ class: 'name' }, say('Password')),
      html.input({
        type: 'password',
        name: 'password',
        autocomplete: 'current-password',
        autoFocus: username.peek() !== '',
        value: password.value,
        onInput: ({ currentTarget }) => {
          password.value = currentTarget.value
        },
      }),
    ),
    html.footer(
      null,
      html.button(
        { type: 'submit', class: 'main', disabled: isBusy.value || wait.value > 0 },
        isBusy.value ? say('Logging in…') : say('Log in'),
      ),
    ),
  )
}

const clock = (seconds: number) => `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
