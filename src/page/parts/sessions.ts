import { h } from 'preact'
import { request } from '../basics/api.ts'
import { formatSettings } from '../basics/format-settings.ts'
import { html } from '../basics/html.ts'
import { useLoaded } from '../basics/loading.ts'
import { say } from '../language/say.ts'
import { formatMoment } from '../logic/values.ts'
import { Action } from './action.ts'
import { renderLoaded } from './message.ts'

interface Session {
  id: string
  createdOn: string
  lastSeen: string
  address: string
  current: boolean
}

/** Where a user is logged in, and how to end it there. */
export function Sessions({ path, isOwn }: { path: string; isOwn: boolean }) {
  const loaded = useLoaded(async () => (await request<Session>('GET', path)).data, [path])
  const end = async (id: string) => {
    await request('DELETE', `${path}/${encodeURIComponent(id)}`)
    loaded.again()
  }
  return renderLoaded(loaded, (sessions) =>
    sessions.length === 0
      ? html.p({ class: 'hint' }, say('Not logged in anywhere.'))
      : html.ul(
          { class: 'plain' },
          sessions.map(({ id, createdOn, lastSeen, address, current }) =>
            html.li(
              { key: id, class: 'line' },
              html.span(
                null,
                html.strong(null, current && isOwn ? say('This one') : address),
                html.span(
                  { class: 'hint' },
                  ' ',
                  say('since {since}, last seen {seen}', {
                    since: formatMoment(createdOn, formatSettings.value),
                    seen: formatMoment(lastSeen, formatSettings.value),
                  }),
                ),
              ),
              !current && h(Action, { run: () => end(id) }, say('End')),
            ),
          ),
        ),
  )
}
