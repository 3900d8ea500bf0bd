import { didYouMean } from '../lib/nearest.ts'
import { type Model, visibleField } from '../model/model.ts'
import { FIND_PARAMETERS } from '../model/names.ts'
import { createComparison } from './comparison.ts'
import { findOperator, type OperatorUse, PARAMETER_WORDS } from './operators.ts'
import { followPath, parseExpand, parseFields, parseSort, textFields } from './paths.ts'
import {
  badRequest,
  type Context,
  DEFAULT_LIMIT,
  type Filter,
  MAX_CRITERIA,
  MAX_LIMIT,
  type Query,
  type View,
  wholeNumber,
} from './query.ts'
import { parseTextSearch } from './text-search.ts'

export type Parameters = Record<string, unknown>

const EQUALS: OperatorUse = { operator: findOperator('eq'), not: false }
const CONTAINS: OperatorUse = { operator: findOperator('like'), not: false }
/** The query parameter that searches all texts of the list. */
export const SEARCH_ALL = '*[like]'

/** Parses find's parameters. Every error names its parameter; no parameter is silently ignored. */
export function parseParameters(parameters: Parameters, context: Context): Query {
  const isSearch = hasParameter(TEXT_PARAMETER, context.model)
  const groups = hasParameter(OR_PARAMETER, context.model) ? parseGroups(parameters[OR_PARAMETER]) : []
  const others = [
    ...FIND_PARAMETERS,
    ...(isSearch ? [TEXT_PARAMETER] : []),
    ...(groups.length > 0 ? [OR_PARAMETER] : []),
  ]
  const names = Object.keys(parameters).filter((name) => !others.includes(name))
  if (names.length + groups.flat().length > MAX_CRITERIA)
    throw badRequest(`There are more than ${MAX_CRITERIA} filters.`)
  const filters = [
    ...names.map((name) => parseFilter(name, once(parameters, name) as string, context)),
    ...groups.map((group) => ({ any: group.map(([name, text]) => parseFilter(name, text, context, IN_OR)) })),
  ]
  const after = once(parameters, 'after')
  const offset = wholeNumber(parameters, 'offset', Number.MAX_SAFE_INTEGER)
  if (after !== undefined && offset !== undefined) throw badRequest('"after" and "offset" exclude each other.')
  return {
    offset: offset ?? 0,
    limit: wholeNumber(parameters, 'limit', MAX_LIMIT) ?? DEFAULT_LIMIT,
    after,
    ...parseView(parameters, context),
    sort: parseSort('"sort"', list(parameters, 'sort'), context),
    filter: filters.length > 0 ? { all: filters } : undefined,
    search: isSearch
      ? parseTextSearch(`The query parameter "${TEXT_PARAMETER}"`, parameters[TEXT_PARAMETER], context.model)
      : undefined,
  }
}

/** The query parameter with words to search for. */
export const TEXT_PARAMETER = 'q'
/** The query parameter with filters of which one has to hold. Its value is a query string itself. */
export const OR_PARAMETER = 'or'
const IN_OR = `In the query parameter "${OR_PARAMETER}", `

/** Whether these parameters have their own meaning: a model may have a field of the name, which was there before. */
export const hasParameter = (name: string, model: Model) => visibleField(model, name) === undefined

/** The names and texts of the filters in each `or`. */
function parseGroups(given: unknown): [name: string, text: string][][] {
  if (given === undefined) return []
  return [given].flat().map((text) => {
    const filters = [...new URLSearchParams(String(text))]
    if (filters.length > 0) return filters
    throw badRequest(
      `The query parameter "${OR_PARAMETER}" takes filters: city=Oslo&city=Bergen, as one encoded value.`,
    )
  })
}

/** Parses `fields` and `expand`. */
export function parseView(parameters: Parameters, context: Context): View {
  const fields = list(parameters, 'fields')
  return {
    fields: fields && parseFields('"fields"', fields, context.model),
    expand: parseExpand('"expand"', list(parameters, 'expand'), context),
  }
}

/** A text parameter that may be given only once. */
function once(parameters: Parameters, name: string): string | undefined {
  const value = parameters[name]
  if (value === undefined || typeof value === 'string') return value
  throw badRequest(`The query parameter "${name}" must be given once.`)
}

function list(parameters: Parameters, name: string): string[] | undefined {
  return once(parameters, name)
    ?.split(',')
    .map((item) => item.trim())
}

function anywhere(where: string, text: string, { model }: Context): Filter {
  const given = { where, values: [{ name: '', value: text }], isText: true }
  return { any: textFields(where, model).map((field) => createComparison([], field, CONTAINS, given)) }
}

/** Parses one filter, such as `lastName=Smith`, `age[gte]=18` or `company.name[like]=acme`. */
function parseFilter(name: string, text: string, context: Context, place = 'The query parameter '): Filter {
  const where = `${place}"${name}"`
  if (name === SEARCH_ALL) return anywhere(where, text, context)
  const match = /^([\w.]+)(?:\[(.*)\])?$/.exec(name)
  if (!match) throw badRequest(`${where} is not a field, nor a field with an operator such as age[gte].`)
  const [, path = '', word = ''] = match
  const { through, field } = followPath(where, path, context, FIND_PARAMETERS)
  const asked = name === path ? EQUALS : PARAMETER_WORDS.get(word)
  if (!asked) throw badRequest(`${where} has an unknown operator "${word}".${didYouMean(word, PARAMETER_WORDS.keys())}`)
  const { takes } = asked.operator
  if (takes === 'none') {
    if (text !== 'true' && text !== 'false') throw badRequest(`${where} must be true or false.`)
    return createComparison(through, field, { ...asked, not: text === 'true' }, { where, values: [], isText: true })
  }
  const isList = takes === 'many' || takes === 'two'
  const texts = isList && text !== '' ? text.split(',') : isList ? [] : [text]
  const values = texts.map((value) => ({ name: '', value }))
  if (takes === 'two' && values.length !== 2) throw badRequest(`${where} takes two values, separated by a comma.`)
  return createComparison(through, field, asked, { where, values, isText: true })
}
