import { say } from '../language/say.ts'
import { calendarDays } from './calendar-days.ts'
import { filtersIn } from './filters.ts'
import { type Field, findField, hasLinks, isNumeric, type Model, referredName, shownFields } from './model.ts'
import { dayBounds } from './periods.ts'
import { type FormatSettings, formatDay, formatMonth, formatValue, NOTHING } from './values.ts'

/** Counts and sums of records by groups, as an address says them beside the filters of the table. */

export const CHARTS = ['bar', 'line', 'pie'] as const
export type ChartKind = (typeof CHARTS)[number]

export interface Summary {
  /** a field, or a field and a period: `hired:month`; empty for none */
  group: string
  /** what is counted or summed, as the service writes it: `sum(pay)` */
  value: string
  chart: ChartKind
}

export interface Choice {
  value: string
  title: string
}

/** Own parameters of the address begin so; no field's name has a point in it. */
const PREFIX = 'summary.'
const PERIODS = {
  day: say('day'),
  week: say('week'),
  month: say('month'),
  quarter: say('quarter'),
  year: say('year'),
}
/** Words for the aggregates of a number, beside the count. */
export const AGGREGATE_WORDS = { sum: say('Sum'), avg: say('Average'), min: say('Lowest'), max: say('Highest') }

export function summaryIn(query: URLSearchParams): Summary {
  const chart = CHARTS.find((kind) => kind === query.get(`${PREFIX}chart`)) ?? 'bar'
  return { group: query.get(`${PREFIX}group`) ?? '', value: query.get(`${PREFIX}value`) ?? 'count', chart }
}

/** The address's parameters with another summary. */
export function withSummary(query: URLSearchParams, summary: Summary): URLSearchParams {
  const next = withoutSummary(query)
  for (const [name, value] of Object.entries(summary)) if (value) next.set(PREFIX + name, value)
  return next
}

export const withoutSummary = (query: URLSearchParams) =>
  new URLSearchParams([...query].filter(([name]) => !name.startsWith(PREFIX)))

/** Fields that records can be grouped by; dates and date-times by periods first. */
export function groupChoices(model: Model): Choice[] {
  return shownFields(model)
    .filter((field) => hasLinks(field) || !['array', 'object'].includes(field.type))
    .filter(({ name }) => name !== 'version')
    .flatMap((field): Choice[] => {
      const { name, title, format } = field
      const plain = { value: name, title }
      if (format !== 'date' && format !== 'date-time') return [plain]
      const periods = Object.entries(PERIODS).map(([period, said]) => ({
        value: `${name}:${period}`,
        title: say('{field}, by {period}', { field: title, period: said }),
      }))
      return format === 'date' ? periods : [...periods, plain]
    })
}

/** The values that each group can show. */
export function valueChoices(model: Model): Choice[] {
  const numbers = shownFields(model).filter(
    (field) => isNumeric(field) && field.name !== 'id' && field.name !== 'version',
  )
  return [
    { value: 'count', title: say('Number of records') },
    ...numbers.flatMap(({ name, title }) =>
      Object.entries(AGGREGATE_WORDS).map(([word, said]) => ({
        value: `${word}(${name})`,
        title: say('{figure} of {field}', { figure: said, field: title }),
      })),
    ),
  ]
}

/** The field of a group, and its name in the answer. */
export const groupField = ({ group }: Pick<Summary, 'group'>, model: Model): Field | undefined =>
  findField(model, group.split(':')[0] as string)

/** The query for a summary. `filters` are those of the table. */
export function aggregateQuery(
  filters: URLSearchParams,
  summary: Pick<Summary, 'group' | 'value'>,
  model: Model,
  zone: string,
): URLSearchParams {
  const asked = new URLSearchParams([...filters].filter(([name]) => !['sort', 'fields'].includes(name)))
  const field = groupField(summary, model)
  if (field) asked.set('group', summary.group)
  asked.set('values', summary.value)
  asked.set('zone', zone)
  if (field && referredName(field) !== undefined) asked.set('expand', field.name)
  return asked
}

/** The filter of the table that finds the records of a group; undefined if there is none. */
export function groupFilter(
  { group }: Pick<Summary, 'group'>,
  value: unknown,
  field: Pick<Field, 'items' | 'format'> = {},
  zone = 'UTC',
): [parameter: string, value: string] | undefined {
  const [name, period] = group.split(':')
  if (value === null) return hasLinks(field) ? [`${group}[count]`, '0'] : [`${name}[null]`, 'true']
  if (period !== undefined) {
    const days = calendarDays(String(value))
    const bounds = days && field.format === 'date-time' ? dayBounds(days, zone) : days
    return bounds && [`${name}[between]`, bounds.join()]
  }
  const plain = typeof value === 'object' ? (value as { id: number }).id : value
  return [hasLinks(field) ? `${group}[any]` : group, String(plain)]
}

/** A value of a group for people. */
export function groupText(
  field: Field | undefined,
  group: string,
  value: unknown,
  formatSettings: FormatSettings,
): string {
  if (value === null) return NOTHING
  const period = group.split(':')[1]
  if (period === 'day') return formatDay(String(value), formatSettings)
  if (period === 'month') return formatMonth(String(value), formatSettings)
  return period === undefined ? formatValue(field ?? {}, value, formatSettings) : String(value)
}

/** Whether the table's filters use a name that is a parameter of the service's summary as well. */
export const clashes = (query: URLSearchParams) =>
  filtersIn(query).some(({ parameter }) => ['group', 'values', 'zone'].includes(parameter))

/** Numbers for a picture; what is not set counts as 0. */
export const heights = (values: unknown[]): number[] =>
  values.map((value) => (Number.isFinite(Number(value)) ? Number(value) : 0))

/** The parts of a pie as SVG paths, in a circle of radius 1. Only values above 0 have a part. */
export function pieParts(values: number[]): string[] {
  const total = values.reduce((sum, value) => sum + Math.max(0, value), 0)
  let from = 0
  return values.map((value) => {
    if (value <= 0) return ''
    const start = from
    from += value / total
    // An arc cannot be a whole circle.
    if (value === total) return 'M 1 0 A 1 1 0 1 1 -1 0 A 1 1 0 1 1 1 0 Z'
    const point = (part: number) =>
      `${Math.cos(2 * Math.PI * part).toFixed(4)} ${Math.sin(2 * Math.PI * part).toFixed(4)}`
    return `M 0 0 L ${point(start)} A 1 1 0 ${value / total > 0.5 ? 1 : 0} 1 ${point(from)} Z`
  })
}
