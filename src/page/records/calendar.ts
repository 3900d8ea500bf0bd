import { goInstead, to, withQuery } from '../basics/address.ts'
import { request } from '../basics/api.ts'
import { locale, zone } from '../basics/format-settings.ts'
import { classes, html } from '../basics/html.ts'
import { useLoaded } from '../basics/loading.ts'
import { recordPath } from '../basics/models.ts'
import { useReload } from '../basics/use-reload.ts'
import { say } from '../language/say.ts'
import { serviceQuery, withoutTable } from '../logic/filters.ts'
import { displayName, type Field, findField, type Model, type Row } from '../logic/model.ts'
import { dayBounds } from '../logic/periods.ts'
import { formatCount, momentIn } from '../logic/values.ts'
import { isMonth, monthWeeks, otherMonth, withMonth } from '../logic/views.ts'
import { icon } from '../parts/icon.ts'
import { EmptyPart } from '../parts/message.ts'

interface CalendarProperties {
  model: Model
  query: URLSearchParams
  /** name of a field with days or moments */
  by: string
  month: string | undefined
}

/** Records of a month that are loaded, and shown of each day. */
const MAX_RECORDS = 500
const PER_DAY = 4

/** Records of a month by the day of a field. */
export function Calendar({ model, query, by, month: asked }: CalendarProperties) {
  const field = findField(model, by)
  const today = momentIn(new Date().toISOString(), zone.value).slice(0, 10)
  const month = isMonth(asked) ? asked : today.slice(0, 7)
  const weeks = monthWeeks(month)
  const filters = String(serviceQuery(query, model, zone.value))
  const { value, fault, again } = useLoaded(
    (signal) =>
      field
        ? loadMonth(model, field, weeks, new URLSearchParams(filters), signal)
        : Promise.resolve({ rows: [], total: 0 }),
    [model.model, by, month, filters, zone.value],
  )
  useReload(model.model, again)
  if (!field) return EmptyPart(say('This table cannot be shown as a calendar by that.'))
  const dayOf = (row: Row) => dayIn(field, row[by])
  const byDay = Map.groupBy(value?.rows ?? [], dayOf)
  const show = (next: string) => goInstead(withQuery(to('m', model.model), withMonth(query, next)))
  const name = new Intl.DateTimeFormat(locale.value, { month: 'long', year: 'numeric', timeZone: 'UTC' })
  const weekday = new Intl.DateTimeFormat(locale.value, { weekday: 'short', timeZone: 'UTC' })
  const step = (by: 1 | -1, label: string, picture: 'left' | 'right') =>
    html.button(
      { type: 'button', class: 'icon-only', 'aria-label': label, onClick: () => show(otherMonth(month, by)) },
      icon(picture),
    )
  return html.div(
    { class: 'calendar' },
    html.div(
      { class: 'bar' },
      html.h2({ 'aria-live': 'polite' }, name.format(new Date(`${month}-01T00:00:00Z`))),
      step(-1, say('Month before'), 'left'),
      step(1, say('Next month'), 'right'),
      html.button({ type: 'button', onClick: () => show(today.slice(0, 7)) }, say('Today')),
      value && value.total > value.rows.length
        ? html.span(
            { class: 'hint' },
            say('The first {count} of {total} records.', { count: value.rows.length, total: formatCount(value.total) }),
          )
        : null,
      fault && html.span({ class: 'why' }, fault.message),
    ),
    html.table(
      { 'aria-label': `${field.title}, ${month}` },
      html.thead(
        null,
        html.tr(
          null,
          (weeks[0] as string[]).map((day) => html.th({ key: day, scope: 'col' }, weekday.format(new Date(day)))),
        ),
      ),
      html.tbody(
        null,
        weeks.map((week) =>
          html.tr(
            { key: week[0] },
            week.map((day) => calendarDay(model, query, by, day, month, today, byDay.get(day) ?? [])),
          ),
        ),
      ),
    ),
  )
}

function calendarDay(
  model: Model,
  query: URLSearchParams,
  by: string,
  day: string,
  month: string,
  today: string,
  rows: Row[],
) {
  const more = withoutTable(query)
  more.set(`${by}[between]`, `${day},${day}`)
  return html.td(
    { key: day, class: classes(!day.startsWith(month) && 'other', day === today && 'today') },
    html.span({ class: 'day' }, Number(day.slice(8))),
    rows.length > 0 &&
      html.ul(
        null,
        rows
          .slice(0, PER_DAY)
          .map((row) =>
            html.li(
              { key: row.id },
              html.a({ href: to('m', model.model, row.id), dir: 'auto' }, displayName(row, model)),
            ),
          ),
        rows.length > PER_DAY &&
          html.li(
            null,
            html.a(
              { href: withQuery(to('m', model.model), more) },
              say('{count} more', { count: rows.length - PER_DAY }),
            ),
          ),
      ),
  )
}

const dayIn = (field: Field, value: unknown) =>
  field.format === 'date' ? String(value) : momentIn(String(value), zone.value).slice(0, 10)

async function loadMonth(
  model: Model,
  field: Field,
  weeks: string[][],
  filters: URLSearchParams,
  signal: AbortSignal,
): Promise<{ rows: Row[]; total: number }> {
  const [first, last] = [weeks[0]?.[0] as string, weeks.at(-1)?.[6] as string]
  const [from, until] = field.format === 'date' ? [first, last] : dayBounds([first, last], zone.peek())
  const query = new URLSearchParams(filters)
  // The table may have a filter by the same field.
  if (!query.has(`${field.name}[between]`)) query.set(`${field.name}[between]`, `${from},${until}`)
  else
    for (const [word, bound] of [
      ['gte', from],
      ['lte', until],
    ] as const)
      if (!query.has(`${field.name}[${word}]`)) query.set(`${field.name}[${word}]`, bound)
  query.set('fields', [...new Set([model.nameField ?? '', ...model.list, field.name])].filter(Boolean).join())
  query.set('sort', field.name)
  query.set('limit', String(MAX_RECORDS))
  const { data, total = 0 } = await request<Row>('GET', `${recordPath(model.model)}?${query}`, { signal })
  return { rows: data, total }
}
