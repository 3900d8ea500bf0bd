import { didYouMean } from '../lib/nearest.ts'
import { FIND_PARAMETERS } from '../model/find-parameters.ts'
import { findInverse, type Model, visibleField } from '../model/model.ts'
import {
  compareCount,
  compareIds,
  comparePath,
  createComparison,
  ID_OPERATORS,
  type RawOperands,
} from './comparison.ts'
import {
  isToMany,
  leadsToSeveral,
  ownField,
  parseExpand,
  parseFields,
  parseSort,
  requireRelation,
  resolvePath,
  targetModel,
  textFields,
  throughRelations,
} from './field-paths.ts'
import { explainForeignParameter } from './foreign-names.ts'
import { findOperator, type OperatorUse, PARAMETER_OPERATORS } from './operators.ts'
import {
  badRequest,
  DEFAULT_LIMIT,
  type Filter,
  MAX_CRITERIA,
  MAX_LIMIT,
  parseWholeNumber,
  type Query,
  type QueryContext,
  type Relation,
  type Selection,
} from './query.ts'
import { parseTextSearch } from './text-search.ts'

export type QueryParameters = Record<string, unknown>

const EQUALS: OperatorUse = { operator: findOperator('eq'), not: false }
const CONTAINS: OperatorUse = { operator: findOperator('like'), not: false }
/** The query parameter that searches all texts of the list. */
export const SEARCH_ALL = '*[like]'

/** Parses find's parameters. Every error names its parameter; no parameter is silently ignored. */
export function parseParameters(parameters: QueryParameters, context: QueryContext): Query {
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
    ...parseFilters(
      names.map((name) => ({ name, text: filterValue(parameters, name, context.model) })),
      context,
    ),
    ...groups.map((group) => ({ any: group.flatMap((filter) => parseFilters([filter], context, IN_OR)) })),
  ]
  const after = singleValue(parameters, 'after')
  const offset = parseWholeNumber(parameters, 'offset', Number.MAX_SAFE_INTEGER)
  if (after !== undefined && offset !== undefined) throw badRequest('"after" and "offset" exclude each other.')
  return {
    offset: offset ?? 0,
    limit: parseWholeNumber(parameters, 'limit', MAX_LIMIT) ?? DEFAULT_LIMIT,
    after,
    ...parseSelection(parameters, context),
    sort: parseSort('"sort"', listValue(parameters, 'sort'), context),
    filter: filters.length > 0 ? { all: filters } : undefined,
    textSearch: isSearch
      ? parseTextSearch(`The query parameter "${TEXT_PARAMETER}"`, parameters[TEXT_PARAMETER], context.model)
      : undefined,
  }
}

/** The query parameter with words to search for. */
export const TEXT_PARAMETER = 'q'
/** The query parameter with filters of which one has to hold. Its value is a query string itself. */
export const OR_PARAMETER = 'or'
/** The query parameter with the name of a user as whom an admin wants to find records. The route looks at it. */
export const AS_PARAMETER = 'as'
const IN_OR = `In the query parameter "${OR_PARAMETER}", `

/** Whether these parameters have their own meaning: a model may have a field of the name, which was there before. */
export const hasParameter = (name: string, model: Model) => visibleField(model, name) === undefined

/** The names and texts of the filters in each `or`. */
function parseGroups(given: unknown): GivenFilter[][] {
  if (given === undefined) return []
  return [given].flat().map((text) => {
    const filters = [...new URLSearchParams(String(text))].map(([name, value]) => ({ name, text: value }))
    if (filters.length > 0) return filters
    throw badRequest(
      `The query parameter "${OR_PARAMETER}" takes filters: city=Oslo&city=Bergen, as one encoded value.`,
    )
  })
}

/** Parses `fields` and `expand`. */
export function parseSelection(parameters: QueryParameters, context: QueryContext): Selection {
  const fields = listValue(parameters, 'fields')
  return {
    fields: fields && parseFields('"fields"', fields, context.model),
    expand: parseExpand('"expand"', listValue(parameters, 'expand'), context),
  }
}

/** The value of a filter, which may be given only once. A name that is unknown is reported first. */
function filterValue(parameters: QueryParameters, name: string, model: Model): string {
  refuseForeignParameter(name, model)
  return singleValue(parameters, name) as string
}

/** The value of a parameter, which may be given only once. */
function singleValue(parameters: QueryParameters, name: string): string | undefined {
  const value = parameters[name]
  if (value === undefined || typeof value === 'string') return value
  const hint = FIND_PARAMETERS.includes(name) ? '' : ` For several values, use ${name.replace(/\[.*/s, '')}[in]=a,b.`
  throw badRequest(`The query parameter "${name}" must be given once.${hint}`)
}

function listValue(parameters: QueryParameters, name: string): string[] | undefined {
  return singleValue(parameters, name)
    ?.split(',')
    .map((item) => item.trim())
}

/** The filter that a text is contained in any of the model's texts. */
function containsInAnyText(where: string, text: string, { model }: QueryContext): Filter {
  const given = { where, values: [{ name: '', value: text }], isText: true }
  return { any: textFields(where, model).map((field) => createComparison([], field, CONTAINS, given)) }
}

/** A filter as it is given in an address: `city=Oslo`. */
interface GivenFilter {
  name: string
  text: string
  /** the name in the address, if `name` is only the rest of it */
  fullName?: string
}

/** Filters through the same inverse field, whose names go on behind it. */
interface Related {
  relations: Relation[]
  rest: GivenFilter[]
  context: QueryContext
}

/** Parses filters that all have to hold. Those through the same inverse field speak of the same record. */
function parseFilters(given: GivenFilter[], context: QueryContext, place = 'The query parameter '): Filter[] {
  const filters: Filter[] = []
  const related = new Map<string, Related>()
  for (const { name, text, fullName = name } of given) {
    const where = `${place}"${fullName}"`
    refuseForeignParameter(name, context.model)
    const { path, operatorName } = parseName(where, name)
    const { relations } = resolvePath(where, path, context)
    const last = relations.findIndex(isToMany) + 1
    if (last === 0) {
      filters.push(parseFilter({ where, name, path, operatorName, text }, context))
      continue
    }
    const names = path.split('.')
    const key = names.slice(0, last).join('.')
    const target = targetModel(relations[last - 1] as Relation, context.models)
    const group = related.get(key) ?? {
      relations: relations.slice(0, last),
      rest: [],
      context: { ...context, model: target },
    }
    related.set(key, group)
    group.rest.push({ name: name.slice(key.length + 1), text, fullName })
  }
  for (const { relations, rest, context: inner } of related.values())
    filters.push(throughRelations(relations, { all: parseFilters(rest, inner, place) }))
  return filters
}

/** Throws if other products call a parameter so, and the model has no such field. */
function refuseForeignParameter(name: string, model: Model): void {
  const habit = explainForeignParameter(name)
  const [first = ''] = name.split(/[[.]/)
  if (habit && !visibleField(model, first) && !findInverse(model, first)) throw badRequest(habit)
}

/** The values of a list. A comma that belongs to a value is written as `\\,`. */
function splitList(text: string): string[] {
  const values = ['']
  for (const [, plain = '', slashes = '', comma = ''] of text.matchAll(/([^\\,]+)|(\\*)(,?)/g)) {
    const escaped = comma === '' ? slashes : slashes.slice(0, slashes.length >> 1)
    const isSeparator = comma !== '' && slashes.length % 2 === 0
    values[values.length - 1] += plain + escaped + (isSeparator ? '' : comma)
    if (isSeparator) values.push('')
  }
  return values
}

function parseName(where: string, name: string): { path: string; operatorName: string | undefined } {
  if (name === SEARCH_ALL) return { path: name, operatorName: undefined }
  const match = /^([\w.]+)(?:\[(.*)\])?$/.exec(name)
  if (!match) throw badRequest(`${where} is not a field, nor a field with an operator such as age[gte].`)
  return { path: match[1] as string, operatorName: match[2] }
}

interface ParsedName {
  where: string
  name: string
  path: string
  operatorName: string | undefined
  text: string
}

/** Operators such as `count` and `count][gte`, of `people[count]=0` and `people[count][gte]=5`. */
const COUNT = /^count(?:\]\[(.*))?$/

/** Parses one filter, such as `lastName=Smith`, `age[gte]=18` or `company.name[like]=acme`. */
function parseFilter({ where, name, path, operatorName, text }: ParsedName, context: QueryContext): Filter {
  if (name === SEARCH_ALL) return containsInAnyText(where, text, context)
  const resolved = resolvePath(where, path, context)
  const counted = COUNT.exec(operatorName ?? '')
  const isSeveral = leadsToSeveral(resolved.model, resolved.fieldName)
  const idOperator = isSeveral ? ID_OPERATORS.find((one) => one === operatorName) : undefined
  if (idOperator) {
    const values = text.split(',').map((value) => ({ name: '', value }))
    const relation = requireRelation(where, resolved.fieldName, resolved.model)
    return throughRelations(resolved.relations, compareIds(relation, idOperator, { where, values, isText: true }))
  }
  const isCount = counted !== null && isSeveral
  const comparedBy = isCount ? counted[1] : operatorName
  const operatorUse = comparedBy === undefined ? EQUALS : PARAMETER_OPERATORS.get(comparedBy)
  // A wrong field is told before a wrong operator.
  if (!operatorUse && !isCount) ownField(where, resolved.fieldName, resolved.model, FIND_PARAMETERS)
  const operatorNames = [...PARAMETER_OPERATORS.keys(), ...(isSeveral ? ID_OPERATORS : [])]
  if (!operatorUse)
    throw badRequest(
      `${where} has an unknown operator "${comparedBy}".${didYouMean(comparedBy as string, operatorNames)} Operators are ${operatorNames.join(', ')}.`,
    )
  const compare = (use: OperatorUse, given: RawOperands) =>
    isCount
      ? throughRelations(
          resolved.relations,
          compareCount(requireRelation(where, resolved.fieldName, resolved.model), undefined, use, given),
        )
      : comparePath(where, resolved, use, given, FIND_PARAMETERS)
  const { takes } = operatorUse.operator
  if (takes === 'none') {
    if (text !== 'true' && text !== 'false') throw badRequest(`${where} must be true or false.`)
    return compare({ ...operatorUse, not: text === 'true' }, { where, values: [], isText: true })
  }
  const isList = takes === 'many' || takes === 'two'
  const texts = isList && text !== '' ? splitList(text) : isList ? [] : [text]
  const values = texts.map((value) => ({ name: '', value }))
  if (takes === 'two' && values.length !== 2) throw badRequest(`${where} takes two values, separated by a comma.`)
  return compare(operatorUse, { where, values, isText: true })
}
