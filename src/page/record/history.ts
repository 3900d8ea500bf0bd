import { h } from 'preact'
import { html } from '../basics/html.ts'
import { recordPath, restore } from '../basics/models.ts'
import { usePages } from '../basics/pages.ts'
import { zone } from '../basics/zone.ts'
import { findField, type Model, type Row } from '../logic/model.ts'
import { momentIn } from '../logic/values.ts'
import { Action } from '../parts/action.ts'
import { shown } from '../parts/message.ts'
import { notify, notifyError } from '../parts/notices.ts'
import { Difference, Value } from '../parts/value.ts'

interface Entry {
  change: number
  version: number
  operation: string
  by: string | null
  at: string
  changes: Record<string, { from?: unknown; to?: unknown }>
}

interface HistoryProperties {
  model: Model
  /** current record; only its id if it was deleted */
  record: Row
  /** a new number loads the history again */
  round: number
}

const PORTION = 20
const WORDS: Record<string, string> = {
  create: 'created',
  update: 'changed',
  delete: 'deleted',
  restore: 'brought back',
  forget: 'made forget what was here',
}

/** History of a record: who did what and when, with a button to restore each version. */
export function History({ model, record, round }: HistoryProperties) {
  const pages = usePages<Entry>(recordPath(model.model, record.id, 'history'), PORTION, round)
  return shown(pages, ({ items }) =>
    html.div(
      { class: 'history' },
      items.length === 0 && html.p({ class: 'hint' }, 'Nothing is kept of it.'),
      html.ol(
        null,
        items.map((entry) => h(Item, { key: entry.change, entry, model, record })),
      ),
      pages.more && h(Action, { run: pages.more }, 'Earlier'),
    ),
  )
}

function Item({ entry, model, record }: { entry: Entry; model: Model; record: Row }) {
  const { version, operation, by, at, changes } = entry
  const isThere = record.version !== undefined
  const canBringBack =
    isThere && model.allowed.update && version !== record.version && operation !== 'forget' && operation !== 'delete'
  const bringBack = async () => {
    try {
      await restore(model.model, record.id, { version: record.version, to: version })
      notify(`It is as it was at version ${version}.`)
    } catch (error) {
      notifyError(error)
    }
  }
  return html.li(
    null,
    html.div(
      { class: 'what' },
      html.strong(null, by ?? 'Somebody at the shell'),
      ` ${WORDS[operation] ?? operation} `,
      html.time({ dateTime: at }, momentIn(at, zone.value)),
      html.span({ class: 'hint' }, ` version ${version}`),
      canBringBack && html.button({ type: 'button', class: 'quiet', onClick: bringBack }, 'Bring back this version'),
    ),
    html.dl(
      null,
      Object.entries(changes).map(([name, change]) => {
        const field = findField(model, name)
        return [
          html.dt({ key: name }, field?.title ?? name),
          html.dd(
            null,
            !('to' in change || 'from' in change)
              ? html.span({ class: 'hint' }, 'not shown')
              : operation === 'create'
                ? h(Value, { field, value: change.to })
                : h(Difference, { field, before: change.from, after: change.to }),
          ),
        ]
      }),
    ),
  )
}
