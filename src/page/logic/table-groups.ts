import { say } from '../language/say.ts'
import { FOOT_PARAMETER as FOOT, GROUP_PARAMETER as GROUP, OPEN_PARAMETER as OPEN } from './filters.ts'
import { type Field, isNumeric, type Model } from './model.ts'
import { AGGREGATE_WORDS, aggregateQuery, groupField, groupFilter } from './summary.ts'

/** Groups and the foot of a table, as an address says them beside its filters. */

/** Words for the figures that the foot can show of a column. */
export const AGGREGATE_NAMES = { count: say('Count'), ...AGGREGATE_WORDS }
export type Aggregate = keyof typeof AGGREGATE_NAMES
export const AGGREGATES = Object.keys(AGGREGATE_NAMES) as Aggregate[]

/** Values that the service computes at once, beside the count. */
const MAX_VALUES = 19

export interface TableGroups {
  /** a field, or a field and a period: `hired:month`; empty for none */
  group: string
  /** keys of the groups whose records are shown */
  open: string[]
}

export const tableGroupsIn = (query: URLSearchParams): TableGroups => ({
  group: query.get(GROUP) ?? '',
  open: query.getAll(OPEN),
})

/** Another group closes all groups. */
export function withGroup(query: URLSearchParams, group: string): URLSearchParams {
  const next = new URLSearchParams(query)
  next.delete(OPEN)
  if (group === '') next.delete(GROUP)
  else next.set(GROUP, group)
  return next
}

/** Opens or closes a group. */
export function withOpen(query: URLSearchParams, key: string, isOpen: boolean): URLSearchParams {
  const next = new URLSearchParams(query)
  const others = query.getAll(OPEN).filter((one) => one !== key)
  next.delete(OPEN)
  for (const one of isOpen ? [...others, key] : others) next.append(OPEN, one)
  return next
}

/** Text that stands for a group in the address. */
export const groupKey = (value: unknown): string =>
  JSON.stringify(typeof value === 'object' && value !== null ? (value as { id: number }).id : value)

/** The columns of which each group has a sum. */
export const summedColumns = (columns: Field[]) =>
  columns
    .filter((field) => isNumeric(field) && field.name !== 'id' && field.name !== 'version')
    .slice(0, MAX_VALUES)
    .map(({ name }) => name)

/** The query for the groups. `filters` are those of the table, as the service knows them. */
export function groupsQuery(
  filters: URLSearchParams,
  group: string,
  columns: Field[],
  model: Model,
  zone: string,
): URLSearchParams {
  const value = ['count', ...summedColumns(columns).map((name) => `sum(${name})`)].join()
  return aggregateQuery(filters, { group, value }, model, zone)
}

/** The filters that find the records of a group; undefined if an address cannot say it. */
export function rowsQuery(
  filters: URLSearchParams,
  group: string,
  value: unknown,
  model: Model,
  zone: string,
): URLSearchParams | undefined {
  const found = groupFilter({ group }, value, groupField({ group }, model), zone)
  if (!found) return undefined
  const [parameter, wanted] = found
  const query = new URLSearchParams(filters)
  if (filters.get(parameter) === wanted) return query
  const other = filters.has(parameter) ? otherFilters(parameter, wanted) : [found]
  if (!other || other.some(([name]) => filters.has(name))) return undefined
  for (const one of other) query.set(...one)
  return query
}

/** An equivalent filter with another parameter, if the table has one of that name: an address has each of them once. */
function otherFilters(parameter: string, value: string): [parameter: string, value: string][] | undefined {
  const [, path, word] = /^(.*)\[(any|between)\]$/.exec(parameter) ?? []
  if (word === 'any') return [[`${path}[all]`, value]]
  const [first = '', last = ''] = value.split(',')
  if (word !== 'between') return undefined
  return [
    [`${path}[gte]`, first],
    [`${path}[lte]`, last],
  ]
}

/** The figures in the foot, by field. */
export function footIn(query: URLSearchParams): Record<string, Aggregate> {
  const parts = (query.get(FOOT) ?? '').split(',').map((part) => part.split(':'))
  const known = parts.flatMap(([name = '', word]): [string, Aggregate][] => {
    const aggregate = AGGREGATES.find((one) => one === word)
    return aggregate ? [[name, aggregate]] : []
  })
  return Object.fromEntries(known)
}

export function withFoot(query: URLSearchParams, name: string, aggregate: Aggregate | undefined): URLSearchParams {
  const { [name]: _before, ...others } = footIn(query)
  const foot = aggregate ? { ...others, [name]: aggregate } : others
  const next = new URLSearchParams(query)
  const text = Object.entries(foot)
    .map(([field, word]) => `${field}:${word}`)
    .join()
  if (text === '') next.delete(FOOT)
  else next.set(FOOT, text)
  return next
}

/** Figures that make sense for a column. */
export function columnAggregates(field: Field): Aggregate[] {
  if (isNumeric(field)) return [...AGGREGATES]
  return ['date', 'date-time', 'time'].includes(field.format ?? '') ? ['min', 'max'] : []
}

/** Name of a aggregate in the answer of the service. */
export const aggregateColumn = (name: string, aggregate: Aggregate) =>
  aggregate === 'count' ? 'count' : `${aggregate}(${name})`

/** The query for the foot. */
export function footQuery(filters: URLSearchParams, foot: Record<string, Aggregate>): URLSearchParams {
  const asked = new URLSearchParams([...filters].filter(([name]) => !['sort', 'fields'].includes(name)))
  const values = Object.entries(foot).map(([name, aggregate]) => aggregateColumn(name, aggregate))
  asked.set('values', [...new Set(values)].slice(0, MAX_VALUES + 1).join())
  return asked
}
