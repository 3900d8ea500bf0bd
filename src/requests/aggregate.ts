import { PERIODS, type Period } from '../lib/calendar-period.ts'
import { didYouMean } from '../lib/nearest.ts'
import { findFormat } from '../model/formats.ts'
import { type Field, ID_FIELD, isNumeric, isScalar, type JsonSchema } from '../model/model.ts'
import { parseSearch, type SearchBody } from './criteria.ts'
import { followPath } from './field-paths.ts'
import { parseHaving } from './having.ts'
import { parseParameters, type QueryParameters } from './parameters.ts'
import { badRequest, type Filter, parseWholeNumber, parseZone, type Query, type QueryContext } from './query.ts'

export const AGGREGATES = ['count', 'countDistinct', 'sum', 'avg', 'min', 'max'] as const
export type AggregateName = (typeof AGGREGATES)[number]

/** A field by which records are grouped. */
export interface GroupKey {
  /** name in the answer: the path as it was given */
  name: string
  through: Field[]
  /** the field; for an array, a field with the type of its items */
  field: Field
  /** the array whose items are grouped by: a record counts in the group of each of them */
  array?: Field | undefined
  by?: Period | undefined
}

/** A number that is asked for of each group. */
export interface AggregateValue {
  name: string
  aggregate: AggregateName
  through: Field[]
  /** not for `count` */
  field?: Field | undefined
}

/** A parsed request for aggregates. */
export interface AggregateQuery extends Pick<Query, 'filter' | 'textSearch' | 'expand' | 'after' | 'limit'> {
  groups: GroupKey[]
  values: AggregateValue[]
  /** about the values of an answer: its fields are those of `answerFields` */
  having?: Filter | undefined
  /** names of groups and values */
  sort: { name: string; descending: boolean }[]
  /** of date-times */
  zone: string
}

export const MAX_GROUP_KEYS = 4
export const MAX_AGGREGATES = 20
export const MAX_ROWS = 500
const MAX_NAME = 100

/** Parameters of an aggregate that are no filters. */
const OWN_PARAMETERS = ['group', 'values', 'zone', 'sort', 'limit', 'after', 'expand']

/** Parses the query string of an aggregate; what is left are filters as in a find. */
export function parseAggregateParameters(parameters: QueryParameters, context: QueryContext): AggregateQuery {
  const own = (name: string): string[] => {
    const text = parameters[name]
    if (text === undefined) return []
    if (typeof text !== 'string') throw badRequest(`The query parameter "${name}" must be given once.`)
    return text.split(',').map((one) => one.trim())
  }
  const others = Object.entries(parameters).filter(([name]) => !OWN_PARAMETERS.includes(name))
  for (const name of ['offset', 'fields'])
    if (name in parameters) throw badRequest(`There is no query parameter "${name}" here.`)
  const { filter, textSearch } = parseParameters(Object.fromEntries(others), context)
  const groups = own('group').map((text) => {
    const [path = '', by, ...more] = text.split(':')
    if (more.length > 0) throw badRequest(`"group": "${text}" must be a field, or a field and a period: hired:month.`)
    return parseGroup('"group"', path, by, context)
  })
  const values = (parameters.values === undefined ? ['count'] : own('values')).map((text) => {
    const [, aggregate = '', path] = /^(\w+)(?:\(([\w.]+)\))?$/.exec(text) ?? [text, text]
    return parseAggregate('"values"', text, aggregate, path, context)
  })
  return validateQuery(
    {
      groups,
      values,
      filter,
      textSearch,
      sort: toSort(own('sort')),
      limit: parseWholeNumber(parameters, 'limit', MAX_ROWS) ?? MAX_ROWS,
      after: own('after')[0],
      zone: (parameters.zone as string | undefined) ?? 'UTC',
      expand: own('expand'),
    },
    '"sort"',
  )
}

/** The body of an aggregate. Its schema has been validated, except for the criteria. */
export interface AggregateBody extends Pick<SearchBody, 'q' | 'limit' | 'after' | 'sortBy' | 'expand'> {
  groupBy?: (string | { field: string; by?: string })[]
  values?: Record<string, string | Record<string, string>>
  zone?: string
  data?: SearchBody['data']
  having?: unknown
}

export function parseAggregateBody(body: AggregateBody, context: QueryContext): AggregateQuery {
  const { groupBy = [], values = { count: 'count' }, data = {}, q, limit = MAX_ROWS, after, zone = 'UTC' } = body
  const { filter, textSearch } = parseSearch({ data, ...(q !== undefined && { q }) }, context)
  const groups = groupBy.map((one) => {
    const { field, by } = typeof one === 'string' ? { field: one, by: undefined } : one
    return parseGroup('"groupBy"', field, by, context)
  })
  const parsed = Object.entries(values).map(([name, value]) => {
    // The schema requires exactly one key.
    const [[aggregate, path]] = (typeof value === 'string' ? [[value]] : Object.entries(value)) as [[string, string?]]
    return parseAggregate(`"values.${name}"`, name, aggregate, path, context)
  })
  const query = { groups, values: parsed, filter, textSearch, sort: toSort(body.sortBy ?? []), limit, after, zone }
  const having = body.having === undefined ? undefined : parseHaving(body.having, answerFields(query))
  return validateQuery({ ...query, having, expand: body.expand ?? [] }, '"sortBy"')
}

const toSort = (names: string[]) =>
  names.map((name) => ({ name: name.replace(/^-/, ''), descending: name.startsWith('-') }))

/** The members of an answer by name, as fields with the type and format of the values. */
export function answerFields({ groups, values }: Pick<AggregateQuery, 'groups' | 'values'>): Map<string, Field> {
  const grouped = groups.map(({ name, field, by }): Field => (by ? { ...TEXT, name } : { ...field, name }))
  const computed = values.map(({ name, field, aggregate }): Field => {
    if (aggregate === 'min' || aggregate === 'max') return { ...(field as Field), name }
    if (field?.format === 'decimal' && aggregate !== 'countDistinct') return { ...field, name }
    return { ...NUMBER, name }
  })
  return new Map([...grouped, ...computed].map((field) => [field.name, field]))
}

const NUMBER: Field = { ...ID_FIELD, type: 'number' }
const TEXT: Field = { ...ID_FIELD, type: 'string' }

function validateQuery(query: AggregateQuery, sort: string): AggregateQuery {
  const { groups, values, zone, expand } = query
  if (groups.length > MAX_GROUP_KEYS) throw badRequest(`There are more than ${MAX_GROUP_KEYS} groups.`)
  if (values.length > MAX_AGGREGATES) throw badRequest(`There are more than ${MAX_AGGREGATES} values.`)
  if (groups.filter(({ array }) => array).length > 1)
    throw badRequest('Records can be grouped by one array only: there would be a group for each combination of items.')
  if (groups.length + values.length === 0) throw badRequest('There must be a group or a value.')
  parseZone(zone)
  const names = [...groups, ...values].map(({ name }) => name)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) throw badRequest(`"${twice}" occurs twice.`)
  for (const { name } of query.sort)
    if (!names.includes(name)) throw badRequest(`${sort}: "${name}" is not in the answer.${didYouMean(name, names)}`)
  for (const name of expand)
    if (!groups.some((group) => group.name === name && group.field.reference && group.through.length === 0))
      throw badRequest(`"expand": "${name}" is not a reference that is grouped by.`)
  return query
}

function parseGroup(where: string, path: string, by: string | undefined, context: QueryContext): GroupKey {
  const { through, field } = followPath(where, path, context)
  if (field.type === 'array' && through.length === 0 && by === undefined)
    return { name: path, through, field: itemField(where, field), array: field }
  if (!isScalar(field)) throw badRequest(`${where}: "${path}" is an ${field.type}, which cannot be grouped by.`)
  if (by === undefined) return { name: path, through, field }
  const period = PERIODS.find((one) => one === by)
  if (!period) throw badRequest(`${where}: "${by}" is not one of ${PERIODS.join(' ')}.${didYouMean(by, PERIODS)}`)
  if (field.format !== 'date' && field.format !== 'date-time')
    throw badRequest(`${where}: "${path}" is neither a date nor a date-time, so it has no ${by}.`)
  return { name: path, through, field, by: period }
}

/** Types of items that can be grouped by. */
const ITEM_TYPES: readonly unknown[] = ['string', 'integer', 'number']

/** A field as the items of an array are. With an item twice, a record would count twice. */
function itemField(where: string, field: Field): Field {
  const { items, uniqueItems } = field.schema as { items?: JsonSchema; uniqueItems?: boolean }
  const type = items?.type
  if (!uniqueItems || !ITEM_TYPES.includes(type) || items?.format === 'decimal')
    throw badRequest(
      `${where}: "${field.name}" cannot be grouped by: its items must be texts or numbers, with "uniqueItems": true.`,
    )
  return { ...field, type: type as Field['type'], format: undefined, reference: field.links, links: undefined }
}

function parseAggregate(
  where: string,
  name: string,
  aggregateName: string,
  path: string | undefined,
  context: QueryContext,
): AggregateValue {
  const aggregate = AGGREGATES.find((one) => one === aggregateName)
  if (!aggregate)
    throw badRequest(
      `${where}: "${aggregateName}" is not one of ${AGGREGATES.join(' ')}.${didYouMean(aggregateName, AGGREGATES)}`,
    )
  if (name.length > MAX_NAME || name === '__proto__') throw badRequest(`${where}: choose another name.`)
  if (aggregate === 'count') {
    if (path !== undefined) throw badRequest(`${where}: "count" takes no field.`)
    return { name, aggregate, through: [] }
  }
  if (path === undefined) throw badRequest(`${where}: "${aggregate}" needs a field: ${aggregate}(FIELD).`)
  const { through, field } = followPath(where, path, context)
  if (!isScalar(field) || (aggregate !== 'countDistinct' && !canCompute(field, aggregate)))
    throw badRequest(`${where}: "${path}" has no ${aggregate}.`)
  return { name, aggregate, through, field }
}

/** Numbers have all of them; dates and times have a first and a last one. */
function canCompute(field: Field, aggregate: AggregateName): boolean {
  if (field.reference) return false
  if (isNumeric(field)) return true
  return (aggregate === 'min' || aggregate === 'max') && findFormat(field.format)?.column !== undefined
}
