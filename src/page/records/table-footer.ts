import { request } from '../basics/api.ts'
import { formatSettings, zone } from '../basics/format-settings.ts'
import { classes, html } from '../basics/html.ts'
import { useLoaded } from '../basics/loading.ts'
import { recordPath } from '../basics/models.ts'
import { useReload } from '../basics/use-reload.ts'
import { serviceQuery } from '../logic/filters.ts'
import { type Field, isNumeric, type Model } from '../logic/model.ts'
import { AGGREGATE_NAMES, aggregateColumn, footIn, footQuery } from '../logic/table-groups.ts'
import { formatValue } from '../logic/values.ts'

interface TableFooterProperties {
  model: Model
  columns: Field[]
  query: URLSearchParams
}

/** The last line of a table: sums and the like of all records that it shows, where they were asked for. */
export function TableFooter({ model, columns, query }: TableFooterProperties) {
  const foot = footIn(query)
  const asked = String(footQuery(serviceQuery(query, model, zone.value), foot))
  const { value, fault, again } = useLoaded(
    (signal) => request<Record<string, unknown>>('GET', `${recordPath(model.model, 'aggregate')}?${asked}`, { signal }),
    [model.model, asked],
  )
  useReload(model.model, again)
  const [figures] = value?.data ?? []
  return html.div(
    { class: 'sums', role: 'rowgroup' },
    html.div(
      { class: 'row', role: 'row' },
      html.div({ role: 'gridcell', class: 'pick' }),
      columns.map((field) => {
        const aggregate = foot[field.name]
        const found = aggregate && figures?.[aggregateColumn(field.name, aggregate)]
        // A count of dates is a number.
        const text = aggregate === 'count' ? String(found) : formatValue(field, found, formatSettings.value)
        return html.div(
          { key: field.name, role: 'gridcell', class: classes('cell', isNumeric(field) && 'number') },
          aggregate && html.span({ class: 'label', 'aria-hidden': true }, field.title),
          aggregate && html.span({ class: 'hint' }, AGGREGATE_NAMES[aggregate]),
          aggregate &&
            (fault ? html.span({ class: 'why', title: fault.message }, '!') : html.span(null, figures ? text : '…')),
        )
      }),
    ),
  )
}
