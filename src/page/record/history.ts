import { useSignal } from '@preact/signals'
import { type ComponentChildren, h, type JSX } from 'preact'
import { formatSettings } from '../basics/format-settings.ts'
import { html } from '../basics/html.ts'
import { recordPath } from '../basics/models.ts'
import { usePages } from '../basics/pages.ts'
import { say, sayParts } from '../language/say.ts'
import { findField, type Model, type Row } from '../logic/model.ts'
import { formatAge, formatMoment } from '../logic/values.ts'
import { Action } from '../parts/action.ts'
import { Confirm } from '../parts/dialog.ts'
import { lazy } from '../parts/lazy.ts'
import { renderLoaded } from '../parts/message.ts'
import { Difference, Value } from '../parts/value.ts'
import { bringBack, type Entry } from './versions.ts'

interface HistoryProperties {
  model: Model
  /** current record; only its id if it was deleted */
  record: Row
  /** a new number loads the history again */
  revision: number
}

const Compare = lazy(async () => (await import('./compare.ts')).Compare)

const PORTION = 20

type Phrase = Record<'who' | 'when', JSX.Element>
const PHRASES: Record<string, (parts: Phrase) => ComponentChildren> = {
  create: (parts) => sayParts('{who} created {when}', parts),
  update: (parts) => sayParts('{who} changed {when}', parts),
  delete: (parts) => sayParts('{who} deleted {when}', parts),
  restore: (parts) => sayParts('{who} brought back {when}', parts),
  forget: (parts) => sayParts('{who} made forget what was here {when}', parts),
}

/** History of a record: who did what and when, with a button to restore each version. */
export function History({ model, record, revision }: HistoryProperties) {
  const pages = usePages<Entry>(recordPath(model.model, record.id, 'history'), PORTION, revision)
  const isComparing = useSignal(false)
  const isThere = record.version !== undefined
  return renderLoaded(pages, ({ items }) =>
    html.div(
      { class: 'history' },
      items.length === 0 && html.p({ class: 'hint' }, say('Nothing is kept of it.')),
      isThere &&
        items.length > 1 &&
        html.button(
          {
            type: 'button',
            class: 'quiet',
            onClick: () => {
              isComparing.value = true
            },
          },
          say('Compare versions…'),
        ),
      html.ol(
        { class: 'timeline' },
        items.map((entry) => h(Item, { key: entry.change, entry, model, record })),
      ),
      pages.more && h(Action, { run: pages.more }, say('Earlier')),
      isComparing.value &&
        h(Compare, {
          model,
          record,
          entries: items,
          onClose: () => {
            isComparing.value = false
          },
        }),
    ),
  )
}

function Item({ entry, model, record }: { entry: Entry; model: Model; record: Row }) {
  const { version, operation, by, at, changes } = entry
  /** the record as it was when the question was asked: what others change meanwhile is not overwritten */
  const asking = useSignal<Row | undefined>(undefined)
  const isThere = record.version !== undefined
  const canBringBack =
    isThere && model.allowed.update && version !== record.version && operation !== 'forget' && operation !== 'delete'
  const ask = (about: Row | undefined) => () => {
    asking.value = about
  }
  const who = html.strong(null, by ?? say('Somebody at the shell'))
  const moment = formatMoment(at, formatSettings.value)
  const when = html.time({ class: 'hint', dateTime: at, title: moment }, formatAge(at, Date.now()))
  return html.li(
    null,
    html.div({ class: 'what' }, PHRASES[operation]?.({ who, when }) ?? [who, ` ${operation} `, when]),
    html.dl(
      null,
      Object.entries(changes).map(([name, change]) => {
        const field = findField(model, name)
        return [
          html.dt({ key: name }, field?.title ?? name),
          html.dd(
            null,
            !('to' in change || 'from' in change)
              ? html.span({ class: 'hint' }, say('not shown'))
              : operation === 'create'
                ? h(Value, { field, value: change.to })
                : h(Difference, { field, before: change.from, after: change.to }),
          ),
        ]
      }),
    ),
    canBringBack &&
      html.button(
        { type: 'button', class: 'quiet', onClick: ask(record) },
        say('Bring back version {version}', { version }),
      ),
    asking.value &&
      h(Confirm, {
        title: say('Bring back version {version}?', { version }),
        text: say('All fields become what they were then. What they are now stays in the history.'),
        action: say('Bring it back'),
        onConfirm: () => {
          void bringBack(model, asking.value as Row, version)
          ask(undefined)()
        },
        onClose: ask(undefined),
      }),
  )
}
