import { h, type JSX } from 'preact'
import { to, withQuery } from '../basics/address.ts'
import { request } from '../basics/api.ts'
import { formatSettings } from '../basics/format-settings.ts'
import { html } from '../basics/html.ts'
import { useLoaded } from '../basics/loading.ts'
import { recordPath } from '../basics/models.ts'
import { findReferenceFields, type ReferenceField } from '../basics/referring.ts'
import { useReload } from '../basics/use-reload.ts'
import { say } from '../language/say.ts'
import {
  displayName,
  type Field,
  findField,
  hasLinks,
  isNumeric,
  type Model,
  pluralOf,
  type Row,
  referredName,
} from '../logic/model.ts'
import { AMOUNT, formatCount, formatValue } from '../logic/values.ts'
import { Cell } from '../parts/cell.ts'
import { alignment, columnHeads } from '../parts/column-heads.ts'

/** Rows that are shown; the table of the model has all of them. */
const SHOWN = 10
/** Columns beside the name. */
const MAX_COLUMNS = 6

/** The records that refer to a record: a customer's orders, an order's lines. */
export function Referring({ model, record }: { model: Model; record: Row }) {
  const { value: ways = [] } = useLoaded(() => findReferenceFields(model.model), [model.model])
  const isOnly = (way: ReferenceField) => ways.filter((other) => other.model.model === way.model.model).length === 1
  return ways.map((way) =>
    h(RelatedTable, {
      ...way,
      key: `${way.model.model} ${way.field.name}`,
      title: relatedTitle(model, way, isOnly(way)),
      id: record.id,
    }),
  )
}

/** The title of the inverse field, if one is declared; else what the records are called. */
function relatedTitle({ inverses }: Model, { model, field }: ReferenceField, isOnly: boolean): string {
  const inverse = inverses.find((one) => one.model === model.model && one.field === field.name)
  return (
    inverse?.title ??
    (isOnly ? pluralOf(model) : say('{records} by {field}', { records: pluralOf(model), field: field.title }))
  )
}

interface RelatedProperties extends ReferenceField {
  title: string
  id: number
}

function RelatedTable({ model, field, title, id }: RelatedProperties) {
  const columns = model.list
    .flatMap((name) => findField(model, name) ?? [])
    .filter(({ name, writeOnly }) => name !== field.name && !writeOnly)
    .slice(0, MAX_COLUMNS)
  const loaded = useLoaded(
    (signal) => (model.allowed.read ? loadRelated(model, field, columns, id, signal) : Promise.resolve(undefined)),
    [model.model, field.name, id, columns.map(({ name }) => name)],
  )
  useReload(model.model, loaded.again)
  const [parameter, value] = filterBy(field, id)
  const all = withQuery(to('m', model.model), new URLSearchParams({ [parameter]: value }))
  const { value: found, fault } = loaded
  return html.section(
    { class: 'related', 'aria-label': title },
    html.div(
      { class: 'line' },
      html.h2(
        null,
        model.allowed.read ? html.a({ href: all }, title) : title,
        found && ` (${formatCount(found.total)})`,
      ),
      model.allowed.create &&
        !field.readOnly &&
        html.a(
          {
            class: 'button',
            href: `${to('m', model.model, 'new')}?${field.name}=${id}`,
            'aria-label': say('New {model}', { model: model.title }),
          },
          say('New'),
        ),
    ),
    fault && html.p({ class: 'why' }, fault.message),
    found && found.rows.length > 0 && relatedRows(model, columns, found),
    found &&
      found.total > found.rows.length &&
      html.p(null, html.a({ href: all }, say('All {count}…', { count: formatCount(found.total) }))),
  )
}

/** The filter that finds the records which refer to one by a field. */
const filterBy = (field: Field, id: number): [parameter: string, value: string] => [
  hasLinks(field) ? `${field.name}[any]` : field.name,
  String(id),
]

interface Found {
  total: number
  rows: Row[]
  /** by field */
  sums: Record<string, unknown>
}

async function loadRelated(
  model: Model,
  field: Field,
  columns: Field[],
  id: number,
  signal: AbortSignal,
): Promise<Found> {
  const fields = columns.map(({ name }) => name).join()
  const expand = columns.filter((column) => referredName(column) !== undefined).map(({ name }) => name)
  const [parameter, wanted] = filterBy(field, id)
  const parameters = new URLSearchParams({
    [parameter]: wanted,
    limit: String(SHOWN),
    ...(fields && { fields }),
    ...(expand.length > 0 && { expand: expand.join() }),
  })
  const path = recordPath(model.model)
  const { data, total = 0 } = await request<Row>('GET', `${path}?${parameters}`, { signal })
  const summed = columns.filter(isNumeric).map(({ name }) => name)
  if (summed.length === 0 || total < 2) return { total, rows: data, sums: {} }
  const values = summed.map((name) => `sum(${name})`).join()
  const asked = new URLSearchParams({ [parameter]: wanted, values })
  // A sum that is too large to be exact is not shown.
  const sums = await request<Record<string, unknown>>('GET', `${path}/aggregate?${asked}`, { signal }).catch(
    () => undefined,
  )
  return {
    total,
    rows: data,
    sums: Object.fromEntries(summed.map((name) => [name, sums?.data[0]?.[`sum(${name})`]])),
  }
}

/** Leads to a record: its first value, or its name. */
const recordLink = (model: Model, row: Row, cell?: JSX.Element | false) =>
  html.a({ href: to('m', model.model, row.id) }, cell || displayName(row, model))

function relatedRows(model: Model, columns: Field[], { rows, sums }: Found) {
  const hasSums = Object.values(sums).some((sum) => sum !== undefined)
  return html.div(
    { class: 'scroll', tabIndex: 0, role: 'group', 'aria-label': say('{model} records', { model: model.title }) },
    html.table(
      { class: 'rows' },
      html.thead(
        null,
        html.tr(null, columns.length === 0 && html.th({ scope: 'col' }, model.title), columnHeads(columns)),
      ),
      html.tbody(
        null,
        rows.map((row) =>
          html.tr(
            { key: row.id },
            columns.length === 0 && html.th({ scope: 'row' }, recordLink(model, row)),
            columns.map((field, at) => {
              const cell = h(Cell, { field, value: row[field.name], plain: at === 0 })
              const { name } = field
              if (at > 0) return html.td({ key: name, class: alignment(field) }, cell)
              const isSet = row[name] !== null && row[name] !== ''
              return html.th(
                { key: name, scope: 'row', class: alignment(field) },
                recordLink(model, row, isSet && cell),
              )
            }),
          ),
        ),
      ),
      hasSums &&
        html.tfoot(
          null,
          html.tr(
            null,
            columns.map((field, at) => {
              const sum = sums[field.name]
              const text = sum === undefined ? '' : formatValue(AMOUNT, sum, formatSettings.value)
              if (at > 0) return html.td({ key: field.name, class: alignment(field) }, text)
              return html.th(
                { key: field.name, scope: 'row', class: alignment(field) },
                say('Sum of all {sum}', { sum: text }),
              )
            }),
          ),
        ),
    ),
  )
}
