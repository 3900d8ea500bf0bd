import { h } from 'preact'
import { go, goInstead, to, withQuery } from '../basics/address.ts'
import { request } from '../basics/api.ts'
import { packageCrumb } from '../basics/crumbs.ts'
import { formatSettings, zone } from '../basics/format-settings.ts'
import { html } from '../basics/html.ts'
import { useLoaded } from '../basics/loading.ts'
import { recordPath } from '../basics/models.ts'
import { useKeys } from '../basics/use-keys.ts'
import { say } from '../language/say.ts'
import { serviceQuery } from '../logic/filters.ts'
import { displayName, type Field, type Model, pluralOf, type Row, referredName } from '../logic/model.ts'
import {
  aggregateQuery,
  CHARTS,
  type ChartKind,
  type Choice,
  clashes,
  groupChoices,
  groupField,
  groupFilter,
  groupText,
  type Summary as SummaryOf,
  summaryIn,
  valueChoices,
  withoutSummary,
  withSummary,
} from '../logic/summary.ts'
import { AMOUNT, formatCount, formatValue, NOTHING } from '../logic/values.ts'
import { Referred } from '../parts/cell.ts'
import { Heading } from '../parts/heading.ts'
import { EmptyPart, renderLoaded } from '../parts/message.ts'
import { SummaryChart } from '../parts/summary-chart.ts'
import { ViewTabs } from '../records/view-tabs.ts'

type Group = Record<string, unknown>

const CHART_WORDS: Record<ChartKind, string> = { bar: say('bar'), line: say('line'), pie: say('pie') }

/** Counts and sums of the records that a table shows, by groups: numbers and a picture. */
export function Summary({ model, query }: { model: Model; query: URLSearchParams }) {
  const summary = summaryIn(query)
  const filters = withoutSummary(query)
  const table = withQuery(to('m', model.model), filters)
  useKeys({ keys: 'Esc', does: say('back to the table'), press: () => go(table) })
  const asked = String(aggregateQuery(serviceQuery(filters, model, zone.value), summary, model, zone.value))
  const loaded = useLoaded(
    (signal) => request<Group>('GET', `${recordPath(model.model, 'aggregate')}?${asked}`, { signal }),
    [model.model, asked],
  )
  const choose = (part: Partial<SummaryOf>) =>
    goInstead(withQuery(to('m', model.model, 'summary'), withSummary(query, { ...summary, ...part })))
  return html.section(
    { class: 'summary-place' },
    h(Heading, {
      title: say('Count and sum {model} records', { model: model.title }),
      crumbs: [packageCrumb(model), { text: pluralOf(model), href: table }],
    }),
    h(ViewTabs, { model, query, isChart: true }),
    html.div(
      { class: 'line choices-line' },
      choice(
        say('Group by'),
        summary.group,
        [{ value: '', title: say('nothing: all in one') }, ...groupChoices(model)],
        (group) => choose({ group }),
      ),
      choice(say('Show'), summary.value, valueChoices(model), (value) => choose({ value })),
      choice(
        say('Picture'),
        summary.chart,
        CHARTS.map((kind) => ({ value: kind, title: CHART_WORDS[kind] })),
        (chart) => choose({ chart: chart as ChartKind }),
      ),
    ),
    clashes(filters)
      ? EmptyPart(say('A filter of this table is by a field called group, values or zone, which cannot be used here.'))
      : renderLoaded(loaded, ({ data, total = 0 }) => h(Groups, { model, summary, filters, data, total })),
  )
}

const choice = (label: string, value: string, choices: Choice[], onChoice: (value: string) => void) =>
  html.label(
    null,
    `${label} `,
    html.select(
      { onChange: ({ currentTarget }) => onChoice(currentTarget.value) },
      choices.map((one) => html.option({ key: one.value, value: one.value, selected: one.value === value }, one.title)),
    ),
  )

interface GroupsProperties {
  model: Model
  summary: SummaryOf
  filters: URLSearchParams
  data: Group[]
  /** number of all groups */
  total: number
}

function Groups({ model, summary, filters, data, total }: GroupsProperties) {
  const field = groupField(summary, model)
  const title = valueChoices(model).find(({ value }) => value === summary.value)?.title ?? summary.value
  const values = data.map((group) => group[summary.value])
  const valueText = (value: unknown) =>
    value === null
      ? NOTHING
      : summary.value === 'count'
        ? formatCount(value as number)
        : formatValue(AMOUNT, value, formatSettings.value)
  if (!field) return html.p({ class: 'figure' }, html.strong(null, valueText(values[0])), ` ${title}`)
  const keys = data.map((group) => group[field.name])
  const labels = keys.map((key) =>
    typeof key === 'object' && key !== null
      ? displayName(key as Row)
      : groupText(field, summary.group, key, formatSettings.value),
  )
  return html.div(
    { class: 'figures' },
    h(SummaryChart, { kind: summary.chart, labels, values, texts: values.map(valueText), title }),
    total > data.length &&
      html.p(
        { class: 'hint' },
        say('The first {shown} of {total} groups.', { shown: data.length, total: formatCount(total) }),
      ),
    html.div(
      { class: 'scrolls', tabIndex: 0, role: 'region', 'aria-label': say('Groups') },
      html.table(
        { class: 'rows' },
        html.thead(
          null,
          html.tr(null, html.th({ scope: 'col' }, field.title), html.th({ scope: 'col', class: 'number' }, title)),
        ),
        html.tbody(
          null,
          keys.map((key, at) =>
            html.tr(
              { key: at },
              html.th({ scope: 'row' }, groupLink(model, summary, filters, key, labels[at] as string, field)),
              html.td({ class: 'number' }, valueText(values[at])),
            ),
          ),
        ),
      ),
    ),
  )
}

/** Leads to the table of the records of a group. */
function groupLink(
  model: Model,
  summary: SummaryOf,
  filters: URLSearchParams,
  key: unknown,
  label: string,
  field: Field,
) {
  const isRow = typeof key === 'object' && key !== null
  const text = isRow ? h(Referred, { model: referredName(field) as string, row: key as Row, plain: true }) : label
  const filter = groupFilter(summary, key, field, zone.value)
  if (!filter) return text
  const query = new URLSearchParams(filters)
  query.set(...filter)
  return html.a({ href: withQuery(to('m', model.model), query) }, text)
}
