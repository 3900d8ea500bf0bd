import type { Field } from './model.ts'
import { didYouMean } from './nearest.ts'
import { followPath, parseExpand, parseFields, parseSort } from './paths.ts'
import {
  bad,
  type Context,
  DEFAULT_LIMIT,
  type Filter,
  likePattern,
  MAX_CRITERIA,
  MAX_LIMIT,
  MAX_VALUES,
  type Query,
  wholeNumber,
} from './query.ts'
import { parseText } from './values.ts'

type Parameters = Record<string, unknown>

export const VIEW_PARAMETERS = ['fields', 'expand']
export const FIND_PARAMETERS = ['offset', 'limit', 'after', 'sort', ...VIEW_PARAMETERS]
export const OPERATORS = ['ne', 'gt', 'gte', 'lt', 'lte', 'like', 'in', 'between', 'null']

/** Find's parameters → a Query. Every fault names its parameter; nothing is silently dropped. */
export function parseParameters(parameters: Parameters, context: Context): Query {
  const names = Object.keys(parameters).filter((name) => !FIND_PARAMETERS.includes(name))
  if (names.length > MAX_CRITERIA) throw bad(`There are more than ${MAX_CRITERIA} filters.`)
  const filters = names.map((name) => parseFilter(name, once(parameters, name) as string, context))
  const after = once(parameters, 'after')
  const offset = wholeNumber(parameters, 'offset', Number.MAX_SAFE_INTEGER)
  if (after !== undefined && offset !== undefined) throw bad('"after" and "offset" exclude each other.')
  return {
    offset: offset ?? 0,
    limit: wholeNumber(parameters, 'limit', MAX_LIMIT) ?? DEFAULT_LIMIT,
    after,
    ...parseView(parameters, context),
    sort: parseSort('"sort"', list(parameters, 'sort'), context.model),
    filter: filters.length > 0 ? { all: filters } : undefined,
  }
}

/** What is to be returned of each record. */
export function parseView(parameters: Parameters, context: Context): Pick<Query, 'fields' | 'expand'> {
  const fields = list(parameters, 'fields')
  return {
    fields: fields && parseFields('"fields"', fields, context.model),
    expand: parseExpand('"expand"', list(parameters, 'expand'), context),
  }
}

/** A parameter that may stand only once, as text. */
function once(parameters: Parameters, name: string): string | undefined {
  const value = parameters[name]
  if (value === undefined || typeof value === 'string') return value
  throw bad(`The query parameter "${name}" must be given once.`)
}

function list(parameters: Parameters, name: string): string[] | undefined {
  return once(parameters, name)
    ?.split(',')
    .map((item) => item.trim())
}

/** `lastName=Smith`, `age[gte]=18`, `company.name[like]=acme`. */
function parseFilter(name: string, text: string, context: Context): Filter {
  const where = `The query parameter "${name}"`
  const match = /^([\w.]+)(?:\[(.*)\])?$/.exec(name)
  if (!match) throw bad(`${where} is not a field, nor a field with an operator such as age[gte].`)
  const [, path, operator = 'eq'] = match as unknown as [string, string, string | undefined]
  const { through, field } = followPath(where, path, context, FIND_PARAMETERS)
  if (operator !== 'eq' && !OPERATORS.includes(operator))
    throw bad(`${where} has an unknown operator "${operator}".${didYouMean(operator, OPERATORS)}`)
  const compare = (kind: 'eq' | 'gt' | 'gte' | 'lt' | 'lte', value: string) => ({
    through,
    field,
    operator: kind,
    values: [typed(where, field, value)],
  })
  if (operator === 'null') {
    if (text !== 'true' && text !== 'false') throw bad(`${where} must be true or false.`)
    const isSet: Filter = { through, field, operator: 'isSet', values: [] }
    return text === 'true' ? { not: isSet } : isSet
  }
  requireComparable(where, field)
  if (operator === 'like') {
    requireText(where, field)
    return { through, field, operator: 'like', values: [likePattern(where, text)] }
  }
  if (operator === 'in') {
    const values = text.split(',').map((value) => typed(where, field, value))
    if (text === '' || values.length > MAX_VALUES) throw bad(`${where} takes 1 to ${MAX_VALUES} values.`)
    return { through, field, operator: 'in', values }
  }
  if (operator === 'between') {
    const values = text.split(',').map((value) => typed(where, field, value))
    if (values.length !== 2) throw bad(`${where} takes two values, separated by a comma.`)
    return { through, field, operator: 'between', values }
  }
  return operator === 'ne' ? { not: compare('eq', text) } : compare(operator as 'eq' | 'gt', text)
}

function typed(where: string, field: Field, text: string) {
  const parsed = parseText(field, text)
  if ('value' in parsed) return parsed.value
  throw bad(`${where} must be ${parsed.wanted}.`)
}

export function requireComparable(where: string, field: Field): void {
  if (field.type === 'array' || field.type === 'object')
    throw bad(`${where}: "${field.name}" is an ${field.type}; it can only be asked whether it is set.`)
}

export function requireText(where: string, field: Field): void {
  if (field.type !== 'string') throw bad(`${where}: "like" is for texts, and "${field.name}" is not one.`)
}
