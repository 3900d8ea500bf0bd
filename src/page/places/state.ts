import { useSignal } from '@preact/signals'
import { h } from 'preact'
import { useEffect } from 'preact/hooks'
import { to } from '../basics/address.ts'
import { request, requestOne } from '../basics/api.ts'
import { formatSettings } from '../basics/format-settings.ts'
import { html } from '../basics/html.ts'
import { type Loaded, useLoaded } from '../basics/loading.ts'
import { modelsRevision } from '../basics/models.ts'
import { say, sayParts } from '../language/say.ts'
import { formatAge, formatMoment, formatSize } from '../logic/values.ts'
import { Action } from '../parts/action.ts'
import { Heading } from '../parts/heading.ts'
import { renderLoaded } from '../parts/message.ts'
import { notify } from '../parts/notices.ts'
import { Folder } from './folder.ts'
import { LiveMetrics } from './live-metrics.ts'
import type { User } from './people.ts'

interface Health {
  models: { current: boolean; since?: string; why?: string[] }
}

interface Backup {
  name: string
  bytes: number
  at: string
}

/** State of the service, for admins. */
export const State = () =>
  html.article(
    { class: 'record' },
    h(Heading, { title: say('System') }),
    html.section({ class: 'part' }, html.h2(null, say('Models folder')), h(Standing, null)),
    html.section({ class: 'part' }, html.h2(null, say('Numbers')), h(LiveMetrics, null)),
    html.section({ class: 'part' }, html.h2(null, say('Backups')), h(Backups, null)),
    html.section({ class: 'part' }, html.h2(null, say('Recent logins')), h(Logins, null)),
  )

const LOOK_MS = 5000

/** Whether the served models match the models folder. */
function Standing() {
  const revision = useSignal(0)
  useEffect(() => {
    const timer = setInterval(() => {
      revision.value++
    }, LOOK_MS)
    return () => clearInterval(timer)
  }, [])
  const loaded = useLoaded(() => {
    modelsRevision.value
    revision.value
    return requestOne<Health>('GET', '/health')
  })
  return renderLoaded(loaded, ({ models: { current, since, why = [] } }) =>
    html.div(
      { class: 'form' },
      current
        ? html.p(null, say('✓ What is served is what the folder says.'))
        : html.div(
            { class: 'fault' },
            html.p(
              null,
              since === undefined
                ? say('The folder is not followed:')
                : say('The folder is not followed since {moment}:', {
                    moment: formatMoment(since, formatSettings.value),
                  }),
            ),
            html.ul(
              null,
              why.map((reason) => html.li({ key: reason }, reason)),
            ),
          ),
      // A change of the status means that the preview in `Folder` is outdated, too.
      h(Folder, { status: JSON.stringify([current, since, why]), shownFaults: why }),
    ),
  )
}

function Backups() {
  const loaded = useLoaded(async () => (await request<Backup>('GET', '/ws/state/backups')).data)
  const make = async () => {
    const { name } = await requestOne<Backup>('POST', '/ws/state/backups')
    notify(say('The backup {name} is made.', { name }))
    loaded.again()
  }
  return html.div({ class: 'form' }, html.div(null, h(Action, { run: make }, say('Back up now'))), backupList(loaded))
}

const backupList = (loaded: Loaded<Backup[]>) =>
  renderLoaded(loaded, (backups) =>
    backups.length === 0
      ? html.p(
          null,
          sayParts('None yet. {command} makes one; the service makes its own every day.', {
            command: html.code(null, 'npm run backup'),
          }),
        )
      : html.ul(
          { class: 'plain' },
          backups.map(({ name, bytes, at }) =>
            html.li(
              { key: name },
              html.strong(null, formatAge(at, Date.now())),
              html.span({ class: 'hint' }, ` ${formatMoment(at, formatSettings.value)}, ${formatSize(bytes)}, ${name}`),
            ),
          ),
        ),
  )

const LOGINS = 10

function Logins() {
  const loaded = useLoaded(async () => (await request<User>('GET', '/ws/users')).data)
  return renderLoaded(loaded, (users) =>
    html.ul(
      { class: 'plain' },
      users
        .filter(({ lastLogin }) => lastLogin !== null)
        .sort((one, other) => (String(one.lastLogin) < String(other.lastLogin) ? 1 : -1))
        .slice(0, LOGINS)
        .map(({ username, lastLogin }) =>
          html.li(
            { key: username },
            html.a({ href: to('people') }, username),
            html.span({ class: 'hint' }, ` ${formatMoment(String(lastLogin), formatSettings.value)}`),
          ),
        ),
    ),
  )
}
