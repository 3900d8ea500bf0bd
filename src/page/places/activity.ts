import { type ComponentChildren, h, type JSX } from 'preact'
import { to } from '../basics/address.ts'
import { request } from '../basics/api.ts'
import type { Change } from '../basics/feed.ts'
import { html } from '../basics/html.ts'
import { useLoaded } from '../basics/loading.ts'
import { modelNamed, recordNames } from '../basics/models.ts'
import { useChanges } from '../basics/use-reload.ts'
import { say, sayParts } from '../language/say.ts'
import { formatAge, formatCount } from '../logic/values.ts'

/** Changes that are looked through, and what is shown of them. */
const LOOKED = 100
const SHOWN = 8

const SENTENCES: Record<string, (parts: { who: JSX.Element; what: JSX.Element }) => ComponentChildren> = {
  create: (parts) => sayParts('{who} added {what}', parts),
  update: (parts) => sayParts('{who} changed {what}', parts),
  delete: (parts) => sayParts('{who} deleted {what}', parts),
  restore: (parts) => sayParts('{who} brought back {what}', parts),
}

/** Changes of one kind that somebody made one after the other. */
interface ActivityGroup {
  by: string | null
  operation: string
  changes: Change[]
  /** of the only record */
  name?: string | undefined
}

/** The latest changes, by everybody. */
export function Activity() {
  const { value: groups = [], again } = useLoaded(loadActivity)
  useChanges(() => true, again)
  if (groups.length === 0) return null
  return html.section(
    { 'aria-labelledby': 'happening' },
    html.h2({ id: 'happening' }, say('Happening now')),
    html.ol(
      { class: 'timeline' },
      groups.map((group) => html.li({ key: group.changes[0]?.change }, h(GroupLine, { group }))),
    ),
  )
}

/** The last changes that the user may see, the newest first. */
async function loadActivity(signal: AbortSignal): Promise<ActivityGroup[]> {
  const { next } = await request('GET', '/ws/changes?since=now', { signal })
  const since = Math.max(0, Number(next) - LOOKED)
  const { data } = await request<Change>('GET', `/ws/changes?since=${since}&limit=${LOOKED}`, { signal })
  const groups: ActivityGroup[] = []
  for (const change of data.toReversed()) {
    const last = groups.at(-1)
    const [latest] = last?.changes ?? []
    const isSame = last?.by === change.by && last.operation === change.operation && latest?.model === change.model
    if (isSame) last.changes.push(change)
    else if (Object.hasOwn(SENTENCES, change.operation))
      groups.push({ by: change.by, operation: change.operation, changes: [change] })
  }
  return nameRecords(groups.slice(0, SHOWN))
}

/** Names the record of each group that is about one; those that are gone by now have no name to read. */
async function nameRecords(groups: ActivityGroup[]): Promise<ActivityGroup[]> {
  const single = groups.filter(({ changes }) => changes.length === 1).map(({ changes }) => changes[0] as Change)
  const names = new Map<string, Map<string, string>>()
  for (const [model, some] of Map.groupBy(single, (change) => change.model))
    names.set(
      model,
      await recordNames(
        model,
        some.map(({ id }) => id),
      ),
    )
  return groups.map((group) => {
    const [change] = group.changes as [Change]
    return { ...group, name: names.get(change.model)?.get(String(change.id)) }
  })
}

function GroupLine({ group: { by, operation, changes, name } }: { group: ActivityGroup }) {
  const [change] = changes as [Change]
  const { value: model } = useLoaded(() => modelNamed(change.model), [change.model])
  if (!model) return null
  const several = `${formatCount(changes.length)} ${model.plural ?? model.title}`
  const what =
    changes.length > 1
      ? html.a({ href: to('m', change.model) }, several)
      : html.a({ href: to('m', change.model, change.id), dir: 'auto' }, name ?? `${model.title} #${change.id}`)
  return html.p(
    null,
    SENTENCES[operation]?.({ who: html.strong(null, by ?? say('Somebody at the shell')), what }),
    html.span({ class: 'hint' }, ` ${formatAge(change.at, Date.now())}`),
  )
}
