import { useSignal } from '@preact/signals'
import { h } from 'preact'
import { useRef } from 'preact/hooks'
import { request, requestOne } from '../basics/api.ts'
import { formatSettings } from '../basics/format-settings.ts'
import { html } from '../basics/html.ts'
import { useLoaded } from '../basics/loading.ts'
import { recordPath } from '../basics/models.ts'
import { rememberChange } from '../basics/undo.ts'
import { say } from '../language/say.ts'
import { isSame } from '../logic/merge.ts'
import { type Field, isStamp, type Model, type Row, shownFields } from '../logic/model.ts'
import { formatMoment } from '../logic/values.ts'
import { checkBox } from '../parts/check-box.ts'
import { Dialog } from '../parts/dialog.ts'
import { renderLoaded } from '../parts/message.ts'
import { notify, notifyError } from '../parts/notices.ts'
import { Value } from '../parts/value.ts'
import { bringBack, type Entry } from './versions.ts'

interface CompareProperties {
  model: Model
  record: Row
  entries: Entry[]
  onClose(): void
}

/** Two versions of a record side by side. Single fields can be brought back, or all of a version. */
export function Compare({ model, record: live, entries, onClose }: CompareProperties) {
  // As it was when the dialog opened: what others change meanwhile is not shown here, and not overwritten.
  const { current: record } = useRef(live)
  const versions = entries.filter(({ operation }) => operation !== 'delete' && operation !== 'forget')
  const left = useSignal(versions[1]?.version ?? record.version)
  const right = useSignal(record.version)
  const isOnlyChanged = useSignal(true)
  const loaded = useLoaded(
    () => Promise.all([left.value, right.value].map((version) => readVersion(model, record, version))),
    [left.value, right.value, record.version],
  )
  const fields = shownFields(model).filter((field) => !isStamp(field))
  const canChange = (field: Field) => model.allowed.update && !field.readOnly
  const take = async (field: Field, value: unknown) => {
    try {
      const body = { data: { [field.name]: value, version: record.version } }
      const { data } = await request<Row>('POST', recordPath(model.model, record.id), { body })
      rememberChange(model.model, data)
      notify(say('{field} is brought back.', { field: field.title }))
      onClose()
    } catch (error) {
      notifyError(error)
    }
  }
  const choose = (label: string, chosen: typeof left) =>
    html.select(
      {
        'aria-label': label,
        onChange: ({ currentTarget }) => {
          chosen.value = Number(currentTarget.value)
        },
      },
      versions.map(({ version, by, at }) =>
        html.option(
          { key: version, value: version, selected: version === chosen.value },
          say('Version {version}, {by}, {at}', {
            version,
            by: by ?? say('shell'),
            at: formatMoment(at, formatSettings.value),
          }),
        ),
      ),
    )
  return h(
    Dialog,
    { title: say('Compare versions'), onClose, wide: true },
    checkBox(say('Only what differs'), isOnlyChanged),
    renderLoaded(loaded, ([one, other]) =>
      html.div(
        { class: 'scrolls', tabIndex: 0, role: 'region', 'aria-label': say('Both versions') },
        html.table(
          { class: 'compared' },
          html.thead(
            null,
            html.tr(
              null,
              html.th({ scope: 'col' }, say('Field')),
              html.th({ scope: 'col' }, choose(say('First version'), left)),
              html.th({ scope: 'col' }, choose(say('Second version'), right)),
            ),
          ),
          html.tbody(
            null,
            fields
              .map((field) => ({ field, isEqual: isSame(one?.[field.name] ?? null, other?.[field.name] ?? null) }))
              .filter(({ isEqual }) => !(isOnlyChanged.value && isEqual))
              .map(({ field, isEqual }) =>
                html.tr(
                  { key: field.name, class: isEqual ? undefined : 'differs' },
                  html.th({ scope: 'row' }, field.title),
                  html.td(
                    null,
                    h(Value, { field, value: one?.[field.name] }),
                    !isEqual &&
                      canChange(field) &&
                      html.button(
                        {
                          type: 'button',
                          class: 'quiet',
                          'aria-label': say('Bring back {field}', { field: field.title }),
                          onClick: () => take(field, one?.[field.name] ?? null),
                        },
                        say('bring back'),
                      ),
                  ),
                  html.td(null, h(Value, { field, value: other?.[field.name] })),
                ),
              ),
          ),
        ),
      ),
    ),
    html.footer(
      null,
      html.button({ type: 'button', onClick: onClose }, say('Close')),
      model.allowed.update &&
        left.value !== record.version &&
        html.button(
          {
            type: 'button',
            class: 'main',
            onClick: () => {
              onClose()
              void bringBack(model, record, left.value)
            },
          },
          say('Bring back all of version {version}', { version: left.value }),
        ),
    ),
  )
}

const readVersion = (model: Model, record: Row, version: number): Promise<Row> =>
  requestOne<Row>(
    'GET',
    `${recordPath(model.model, record.id)}${version === record.version ? '' : `?version=${version}`}`,
  )
