import { h } from 'preact'
import { goInstead, to, withQuery } from '../basics/address.ts'
import { request } from '../basics/api.ts'
import { formatSettings, zone } from '../basics/format-settings.ts'
import { classes, html } from '../basics/html.ts'
import { useLoaded } from '../basics/loading.ts'
import { recordPath } from '../basics/models.ts'
import { useReload } from '../basics/use-reload.ts'
import { say } from '../language/say.ts'
import { findQuery, serviceQuery } from '../logic/filters.ts'
import { displayName, type Field, type Model, type Row, referredName } from '../logic/model.ts'
import { groupField, groupText } from '../logic/summary.ts'
import {
  groupKey,
  groupsQuery,
  rowsQuery,
  summedColumns,
  tableGroupsIn,
  withGroup,
  withOpen,
} from '../logic/table-groups.ts'
import { AMOUNT, formatCount, formatValue } from '../logic/values.ts'
import { Cell, Referred } from '../parts/cell.ts'
import { alignment, columnHeads } from '../parts/column-heads.ts'
import { EmptyPart, renderLoaded } from '../parts/message.ts'

/** Records that are shown of an open group; the table filtered by the group has all of them. */
const SHOWN = 50

interface GroupedProperties {
  model: Model
  columns: Field[]
  query: URLSearchParams
  /** models whose records the user may read */
  readable: string[]
}

type Group = Record<string, unknown>

/** The records of a table by the values of a field: groups with counts and sums, to be opened and closed. */
export function GroupedTable({ model, columns: all, query, readable }: GroupedProperties) {
  const { group, open } = tableGroupsIn(query)
  const field = groupField({ group }, model)
  // The first column has the groups, and the names of their records.
  const columns = all.filter(({ name }) => name !== field?.name && name !== model.nameField)
  const filters = serviceQuery(query, model, zone.value)
  const asked = String(groupsQuery(filters, group, columns, model, zone.value))
  const loaded = useLoaded(
    (signal) => request<Group>('GET', `${recordPath(model.model, 'aggregate')}?${asked}`, { signal }),
    [model.model, asked],
  )
  useReload(model.model, loaded.again)
  if (!field) return EmptyPart(say('This table cannot be grouped in that way.'))
  const summed = summedColumns(columns)
  return renderLoaded(loaded, ({ data, total = 0 }) =>
    html.div(
      {
        class: 'grouped',
        tabIndex: 0,
        role: 'region',
        'aria-label': say('{model} records by {field}', { model: model.title, field: field.title }),
      },
      html.table(
        { class: 'rows' },
        html.thead(null, html.tr(null, html.th({ scope: 'col' }, field.title), columnHeads(columns))),
        data.map((one) => {
          const value = one[field.name]
          const key = groupKey(value)
          const isOpen = open.includes(key)
          const count = one.count as number
          return html.tbody(
            { key },
            html.tr(
              { class: 'group-head' },
              html.th(
                { scope: 'rowgroup' },
                html.button(
                  {
                    type: 'button',
                    class: 'quiet',
                    'aria-expanded': isOpen,
                    onClick: () => goInstead(withQuery(to('m', model.model), withOpen(query, key, !isOpen))),
                  },
                  html.span({ class: 'arrow', 'aria-hidden': true }, isOpen ? '▾ ' : '▸ '),
                  groupLabel(field, group, value),
                  ` (${formatCount(count)})`,
                ),
              ),
              columns.map((column) => {
                const sum = summed.includes(column.name) ? one[`sum(${column.name})`] : undefined
                return html.td(
                  { key: column.name, class: alignment(column) },
                  sum === undefined ? '' : formatValue(AMOUNT, sum, formatSettings.value),
                )
              }),
            ),
            isOpen && h(GroupRows, { model, columns, query, readable, group, value, count }),
          )
        }),
      ),
      total > data.length &&
        html.p(
          { class: 'hint' },
          say('The first {shown} of {total} groups.', { shown: data.length, total: formatCount(total) }),
        ),
    ),
  )
}

function groupLabel(field: Field, group: string, value: unknown) {
  if (typeof value !== 'object' || value === null) return groupText(field, group, value, formatSettings.value)
  return h(Referred, { model: referredName(field) as string, row: value as Row, plain: true })
}

interface RowsProperties extends GroupedProperties {
  group: string
  value: unknown
  count: number
}

/** The first records of an open group. */
function GroupRows({ model, columns, query, readable, group, value, count }: RowsProperties) {
  const wanted = rowsQuery(query, group, value, model, zone.value)
  const names = model.fields.filter(({ name }) => name === model.nameField)
  const found = wanted && findQuery(serviceQuery(wanted, model, zone.value), [...names, ...columns], readable)
  const asked = found && String(found)
  const {
    value: rows,
    fault,
    again,
  } = useLoaded(
    async (signal) =>
      asked === undefined
        ? []
        : (await request<Row>('GET', `${recordPath(model.model)}?${asked}&limit=${SHOWN}`, { signal })).data,
    [model.model, asked],
  )
  useReload(model.model, again)
  const note = (text: unknown) => html.tr({ class: 'note' }, html.td({ colSpan: columns.length + 1 }, text as string))
  if (fault) return note(fault.message)
  if (!rows) return note(say('Loading…'))
  if (!wanted) return note(say('The table has a filter of the same kind: remove it to see the records.'))
  return [
    rows.map((row) =>
      html.tr(
        { key: row.id },
        html.th({ scope: 'row' }, html.a({ href: to('m', model.model, row.id) }, displayName(row, model))),
        columns.map((field) =>
          html.td(
            { key: field.name, class: classes(alignment(field)) },
            h(Cell, { field, value: row[field.name], short: true }),
          ),
        ),
      ),
    ),
    count > rows.length &&
      note(
        html.a(
          { href: withQuery(to('m', model.model), withGroup(wanted, '')) },
          say('All {count}…', { count: formatCount(count) }),
        ),
      ),
  ]
}
