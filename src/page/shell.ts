import { useSignal } from '@preact/signals'
import { h } from 'preact'
import { useEffect } from 'preact/hooks'
import { place, to } from './basics/address.ts'
import { isReachable, request } from './basics/api.ts'
import { followChanges } from './basics/feed.ts'
import { classes, html } from './basics/html.ts'
import { useLoaded } from './basics/loading.ts'
import { modelNamed, modelNames } from './basics/models.ts'
import { hasSessionEnded, isAdmin, loggedOut, person } from './basics/session.ts'
import { useKeys } from './basics/use-keys.ts'
import { chooseZone, zone, zones } from './basics/zone.ts'
import { Palette } from './palette/palette.ts'
import { bringTheRest, later } from './parts/later.ts'
import { Menu } from './parts/menu.ts'
import { Notices, notifyError } from './parts/notices.ts'
import { Login } from './places/login.ts'
import { Place } from './places/place.ts'

const Keys = later(async () => (await import('./palette/keys-help.ts')).Keys)

/** The frame around every place: the header with the user's menu, the list of models, and dialogs on top. */
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
    bringTheRest()
  }, [])
  useKeys(
    { keys: 'Ctrl+K', does: 'go to anything', press: open('palette') },
    { keys: '?', does: 'show these keys', press: open('keys') },
  )
  return html.div(
    { class: 'shell' },
    html.header(
      { class: 'top' },
      html.a({ class: 'skip', href: location.hash, onClick: toMain }, 'To the content'),
      html.a({ class: 'brand', href: to() }, 'Dossier'),
      html.button({ type: 'button', class: 'find', onClick: open('palette') }, 'Go to… ', html.kbd(null, 'Ctrl K')),
      !isReachable.value && html.span({ class: 'away', role: 'status' }, 'The service cannot be reached'),
      h(
        Menu,
        { label: person.value?.username },
        html.a({ href: to('me') }, 'You: password, sessions, tokens'),
        isAdmin.value && html.a({ href: to('people') }, 'People'),
        isAdmin.value && html.a({ href: to('state') }, 'State'),
        html.a({ href: to('api') }, 'API'),
        html.button({ type: 'button', class: 'quiet closes', onClick: open('keys') }, 'Keys'),
        html.button({ type: 'button', class: 'quiet', onClick: logOut }, 'Log out'),
      ),
    ),
    h(Side, null),
    html.main({ id: 'main', tabIndex: 0 }, h(Place, null)),
    html.footer(
      { class: 'foot' },
      html.label(
        null,
        'Times are in ',
        html.select(
          { onChange: ({ currentTarget }) => chooseZone(currentTarget.value) },
          zones.map((name) => html.option({ key: name, value: name, selected: name === zone.value }, name)),
        ),
      ),
    ),
    h(Notices, null),
    over.value === 'palette' && h(Palette, { onClose: close }),
    over.value === 'keys' && h(Keys, { onClose: close }),
    hasSessionEnded.value && h(Login, { title: 'Your session has ended', isOver: true }),
  )
}

/** Navigation with all models; shown where the window is wide enough. */
function Side() {
  const names = useLoaded(modelNames)
  return html.nav(
    { class: 'side', 'aria-label': 'Models' },
    html.ul(
      null,
      names.value?.map((name) => html.li({ key: name }, h(ModelLink, { name }))),
    ),
  )
}

function ModelLink({ name }: { name: string }) {
  const { value: model } = useLoaded(() => modelNamed(name), [name])
  const isHere = place.value.path[1] === name
  return html.a(
    { href: to('m', name), class: classes(isHere && 'here'), 'aria-current': isHere ? 'page' : undefined, title: name },
    model?.title ?? name,
  )
}

function toMain(event: Event): void {
  event.preventDefault()
  document.getElementById('main')?.focus()
}

async function logOut(): Promise<void> {
  try {
    await request('GET', '/logout')
    loggedOut()
  } catch (error) {
    notifyError(error)
  }
}
