import { useSignal } from '@preact/signals'
import { h } from 'preact'
import { go, to } from '../basics/address.ts'
import { ask } from '../basics/api.ts'
import { html } from '../basics/html.ts'
import { listOf } from '../basics/lists.ts'
import { useLoaded } from '../basics/loading.ts'
import { pathOf } from '../basics/models.ts'
import { useKeys } from '../basics/use-keys.ts'
import { zone } from '../basics/zone.ts'
import { fieldOf, type Model, nameOf, type Row } from '../logic/model.ts'
import { countOf, momentIn } from '../logic/values.ts'
import { Cell } from '../parts/cell.ts'
import { EmptyPart, shown } from '../parts/message.ts'
import { complain, tell } from '../parts/notices.ts'

interface Deletion extends Row {
  by: string | null
  at: string
}

const PORTION = 40

/** The model's deleted records: each can be brought back. */
export function Deleted({ model }: { model: Model }) {
  const older = useSignal<Deletion[]>([])
  const cursor = useSignal<string | undefined>(undefined)
  const path = pathOf(model.model, 'deleted')
  useKeys({ keys: 'Esc', does: 'back to the list', press: () => go(listOf(model.model)) })
  const loaded = useLoaded(async () => {
    const { data, next, total = data.length } = await ask<Deletion>('GET', `${path}?limit=${PORTION}`)
    older.value = []
    cursor.value = next
    return { data, total }
  }, [path])
  const more = async () => {
    const { data, next } = await ask<Deletion>('GET', `${path}?limit=${PORTION}&after=${cursor.value}`)
    older.value = [...older.value, ...data]
    cursor.value = next
  }
  const bringBack = async (row: Deletion) => {
    try {
      await ask('POST', pathOf(model.model, row.id, 'restore'), { body: { data: {} } })
      tell(`${nameOf(row, model)} is back.`, { label: 'Show it', run: () => go(to('m', model.model, row.id)) })
      loaded.again()
    } catch (error) {
      complain(error)
    }
  }
  const columns = model.list.flatMap((name) => fieldOf(model, name) ?? []).slice(0, 4)
  return shown(loaded, ({ data, total }) =>
    html.section(
      null,
      html.header(
        { class: 'title' },
        html.h1(null, `Deleted ${model.title} records`),
        html.span({ class: 'count' }, countOf(total)),
        html.div({ class: 'tools' }, html.a({ class: 'button', href: to('m', model.model) }, 'All records')),
      ),
      data.length === 0
        ? EmptyPart('Nothing was deleted', html.p(null, 'Or it is longer ago than the history goes back.'))
        : html.div(
            { class: 'scrolls', tabIndex: 0, role: 'region', 'aria-label': 'Deleted records' },
            html.table(
              null,
              html.thead(
                null,
                html.tr(
                  null,
                  columns.map(({ name, title }) => html.th({ key: name, scope: 'col' }, title)),
                  html.th({ scope: 'col' }, 'Deleted by'),
                  html.th({ scope: 'col' }, 'At'),
                  html.th({ scope: 'col' }, html.span({ class: 'unseen' }, 'Bring back')),
                ),
              ),
              html.tbody(
                null,
                [...data, ...older.value].map((row) =>
                  html.tr(
                    { key: row.id },
                    columns.map((field) =>
                      html.td({ key: field.name }, h(Cell, { field, value: row[field.name], plain: true })),
                    ),
                    html.td(null, row.by ?? 'somebody at the shell'),
                    html.td(null, momentIn(row.at, zone.value)),
                    html.td(
                      null,
                      html.a({ class: 'button', href: to('m', model.model, row.id) }, 'History'),
                      ' ',
                      model.allowed.create &&
                        html.button({ type: 'button', onClick: () => bringBack(row) }, 'Bring back'),
                    ),
                  ),
                ),
              ),
            ),
          ),
      cursor.value !== undefined && html.button({ type: 'button', onClick: () => more().catch(complain) }, 'Earlier'),
    ),
  )
}
