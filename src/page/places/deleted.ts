import { h } from 'preact'
import { go, to } from '../basics/address.ts'
import { recordCrumbs } from '../basics/crumbs.ts'
import { formatSettings } from '../basics/format-settings.ts'
import { html } from '../basics/html.ts'
import { listPath } from '../basics/lists.ts'
import { recordPath, restore } from '../basics/models.ts'
import { usePages } from '../basics/pages.ts'
import { useKeys } from '../basics/use-keys.ts'
import { inSentence, say } from '../language/say.ts'
import { displayName, findField, type Model, pluralOf, type Row, referredName } from '../logic/model.ts'
import { formatCount, formatMoment } from '../logic/values.ts'
import { Action } from '../parts/action.ts'
import { Cell } from '../parts/cell.ts'
import { Heading } from '../parts/heading.ts'
import { EmptyPart, renderLoaded } from '../parts/message.ts'
import { notify, notifyError } from '../parts/notices.ts'
import { Value } from '../parts/value.ts'

interface Deletion extends Row {
  by: string | null
  at: string
}

const PORTION = 40

/** Deleted records of a model, each with a button to restore it. */
export function Deleted({ model }: { model: Model }) {
  const pages = usePages<Deletion>(recordPath(model.model, 'deleted'), PORTION)
  useKeys({ keys: 'Esc', does: say('back to the list'), press: () => go(listPath(model.model)) })
  const bringBack = async (row: Deletion) => {
    try {
      await restore(model.model, row.id)
      notify(say('{name} is back.', { name: displayName(row, model) }), {
        label: say('Show it'),
        run: () => go(to('m', model.model, row.id)),
      })
      pages.again()
    } catch (error) {
      notifyError(error)
    }
  }
  const columns = model.list.flatMap((name) => findField(model, name) ?? []).slice(0, 4)
  return renderLoaded(pages, ({ items, total }) =>
    html.section(
      null,
      h(Heading, {
        title: say('Deleted {models}', { models: inSentence(pluralOf(model)) }),
        about: formatCount(total),
        crumbs: recordCrumbs(model),
      }),
      items.length === 0
        ? EmptyPart(say('Nothing was deleted'), html.p(null, say('Or it is longer ago than the history goes back.')))
        : html.div(
            { class: 'scrolls', tabIndex: 0, role: 'region', 'aria-label': say('Deleted records') },
            html.table(
              null,
              html.thead(
                null,
                html.tr(
                  null,
                  columns.map(({ name, title }) => html.th({ key: name, scope: 'col' }, title)),
                  html.th({ scope: 'col' }, say('Deleted by')),
                  html.th({ scope: 'col' }, say('At')),
                  html.th({ scope: 'col' }, html.span({ class: 'unseen' }, say('Bring back'))),
                ),
              ),
              html.tbody(
                null,
                items.map((row) =>
                  html.tr(
                    { key: row.id },
                    columns.map((field) =>
                      html.td(
                        { key: field.name },
                        // A deleted record keeps only the ids of the records that it refers to.
                        referredName(field) === undefined
                          ? h(Cell, { field, value: row[field.name], plain: true })
                          : h(Value, { field, value: row[field.name] }),
                      ),
                    ),
                    html.td(null, row.by ?? say('somebody at the shell')),
                    html.td(null, formatMoment(row.at, formatSettings.value)),
                    html.td(
                      null,
                      html.a({ class: 'button', href: to('m', model.model, row.id) }, say('History')),
                      ' ',
                      model.allowed.create &&
                        html.button({ type: 'button', onClick: () => bringBack(row) }, say('Bring back')),
                    ),
                  ),
                ),
              ),
            ),
          ),
      pages.more && h(Action, { run: pages.more }, say('Earlier')),
    ),
  )
}
