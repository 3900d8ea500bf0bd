import { useSignal } from '@preact/signals'
import { h } from 'preact'
import { useEffect } from 'preact/hooks'
import { isReachable, request } from './basics/api.ts'
import { followChanges } from './basics/feed.ts'
import { html } from './basics/html.ts'
import { handleLogout, hasSessionEnded, person } from './basics/session.ts'
import { useKeys } from './basics/use-keys.ts'
import { say } from './language/say.ts'
import { Palette } from './palette/palette.ts'
import { trail } from './parts/heading.ts'
import { icon } from './parts/icon.ts'
import { lazy, preloadLazyParts } from './parts/lazy.ts'
import { Notices, notifyError } from './parts/notices.ts'
import { undoLastChange } from './parts/undo-last-change.ts'
import { Login } from './places/login.ts'
import { Place } from './places/place.ts'
import { Rail } from './rail.ts'

const Keys = lazy(async () => (await import('./palette/keys-help.ts')).Keys)

/** The frame around every place: navigation, the line above, and dialogs on top. */
export function Shell() {
  if (!person.value) return html.main({ id: 'main', class: 'alone' }, h(Login, { title: 'Dossier' }))
  return h(Inside, null)
}

function Inside() {
  const over = useSignal<'palette' | 'keys' | undefined>(undefined)
  const close = () => {
    over.value = undefined
  }
  const open = (what: 'palette' | 'keys') => () => {
    over.value = what
  }
  useEffect(() => {
    followChanges()
    preloadLazyParts()
  }, [])
  useKeys(
    { keys: 'Ctrl+K', does: say('go to anything'), press: open('palette') },
    { keys: '?', does: say('show these keys'), press: open('keys') },
    { keys: 'Ctrl+Z', does: say('undo the last change of this window'), press: undoLastChange },
  )
  return html.div(
    { class: 'shell' },
    html.header(
      { class: 'top' },
      html.a({ class: 'skip', href: location.hash, onClick: toMain }, say('To the content')),
      h(Crumbs, null),
      !isReachable.value && html.span({ class: 'away', role: 'status' }, say('The service cannot be reached')),
      html.button(
        { type: 'button', class: 'find', onClick: open('palette') },
        icon('search'),
        html.span(null, say('Search everything')),
        html.kbd({ 'aria-hidden': true }, 'Ctrl K'),
      ),
    ),
    h(Rail, { onKeys: open('keys'), onLogOut: logOut }),
    html.main({ id: 'main', tabIndex: 0 }, h(Place, null)),
    h(Notices, null),
    over.value === 'palette' && h(Palette, { onClose: close }),
    over.value === 'keys' && h(Keys, { onClose: close }),
    hasSessionEnded.value && h(Login, { title: say('Your session has ended'), isOver: true }),
  )
}

/** The way to the current place. */
const Crumbs = () =>
  html.ol(
    { class: 'crumbs', 'aria-label': say('Where you are') },
    trail.value.map(({ text, href }, at) =>
      html.li({ key: at, dir: 'auto' }, href === undefined ? html.strong(null, text) : html.a({ href }, text)),
    ),
  )

function toMain(event: Event): void {
  event.preventDefault()
  document.getElementById('main')?.focus()
}

async function logOut(): Promise<void> {
  try {
    await request('GET', '/logout')
    handleLogout()
  } catch (error) {
    notifyError(error)
  }
}
