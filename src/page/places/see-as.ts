import { useSignal } from '@preact/signals'
import { request } from '../basics/api.ts'
import { html } from '../basics/html.ts'
import { useLoaded } from '../basics/loading.ts'
import { readableModels, recordPath } from '../basics/models.ts'
import { say, sayParts } from '../language/say.ts'
import type { Row } from '../logic/model.ts'
import { plural } from '../logic/values.ts'
import { headRow } from '../parts/head-row.ts'
import { renderLoaded } from '../parts/message.ts'

/** Shows a model as a user sees it: its first records, with the fields that exist for that user. */
export function SeeAs({ username }: { username: string }) {
  const model = useSignal('')
  const names = useLoaded(() => readableModels(), [])
  const found = useLoaded(async () => {
    if (model.value === '') return undefined
    return request<Row>('GET', `${recordPath(model.value)}?limit=20&as=${encodeURIComponent(username)}`)
  }, [model.value])
  return html.div(
    { class: 'form' },
    renderLoaded(names, (all) =>
      html.label(
        { class: 'name' },
        sayParts('What {username} sees of {model}', {
          username,
          model: html.select(
            {
              value: model.value,
              onChange: ({ currentTarget }) => {
                model.value = currentTarget.value
              },
            },
            html.option({ value: '' }, say('a model…')),
            all.map((name) => html.option({ key: name, value: name }, name)),
          ),
        }),
      ),
    ),
    renderLoaded(found, (page) =>
      page ? seenRows(page.data, page.total as number, username) : html.p({ class: 'hint' }, say('Choose a model.')),
    ),
  )
}

function seenRows(rows: Row[], total: number, username: string) {
  const columns = Object.keys(rows[0] ?? {}).filter((name) => name !== 'version')
  const text = (value: unknown) =>
    typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value ?? '')
  return html.div(
    { class: 'scrolls', tabIndex: 0, role: 'region', 'aria-label': say('What {username} sees', { username }) },
    html.p(
      { class: 'hint' },
      total > rows.length
        ? plural(
            total,
            '{count} record, the first {shown} of them. This is logged.',
            '{count} records, the first {shown} of them. This is logged.',
            { shown: rows.length },
          )
        : plural(total, '{count} record. This is logged.', '{count} records. This is logged.'),
    ),
    rows.length > 0 &&
      html.table(
        null,
        headRow(columns),
        html.tbody(
          null,
          rows.map((row) =>
            html.tr(
              { key: row.id },
              columns.map((name) => html.td({ key: name }, text(row[name]))),
            ),
          ),
        ),
      ),
  )
}
