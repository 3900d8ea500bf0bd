import type { Field } from './model.ts'
import { didYouMean } from './nearest.ts'
import { requireComparable, requireText } from './parameters.ts'
import { followPath, parseExpand, parseFields, parseSort } from './paths.ts'
import {
  bad,
  type Context,
  DEFAULT_LIMIT,
  type Filter,
  likePattern,
  MAX_CRITERIA,
  MAX_VALUES,
  type Operator,
  type Query,
} from './query.ts'
import { parseValue } from './values.ts'

/** The body of a search, its shape already checked; the criteria are not. */
export interface SearchBody {
  offset?: number
  limit?: number
  after?: string
  fields?: string[]
  sortBy?: string[]
  expand?: string[]
  data: Group
}

interface Group {
  operator?: unknown
  criteria?: unknown
}

const MAX_NESTING = 8
const JUNCTIONS = ['and', 'or', 'not']

/** Each operator of a body: the comparison, and whether it is turned around. */
const OPERATORS: Record<string, { operator: Operator; not?: true }> = {
  '=': { operator: 'eq' },
  '!=': { operator: 'eq', not: true },
  '>': { operator: 'gt' },
  '>=': { operator: 'gte' },
  '<': { operator: 'lt' },
  '<=': { operator: 'lte' },
  like: { operator: 'like' },
  notLike: { operator: 'like', not: true },
  in: { operator: 'in' },
  notIn: { operator: 'in', not: true },
  between: { operator: 'between' },
  notBetween: { operator: 'between', not: true },
  isNull: { operator: 'isSet', not: true },
  notNull: { operator: 'isSet' },
}

/** A search body → a Query. */
export function parseSearch(body: SearchBody, context: Context): Query {
  if (body.after !== undefined && body.offset !== undefined) throw bad('"after" and "offset" exclude each other.')
  return {
    offset: body.offset ?? 0,
    limit: body.limit ?? DEFAULT_LIMIT,
    after: body.after,
    fields: body.fields && parseFields('"fields"', body.fields, context.model),
    sort: parseSort('"sortBy"', body.sortBy, context.model),
    expand: parseExpand('"expand"', body.expand, context),
    filter: new CriteriaParser(context).group(body.data, 'data', 1),
  }
}

class CriteriaParser {
  readonly #context: Context
  #count = 0

  constructor(context: Context) {
    this.#context = context
  }

  /** Checks depth and number before going on, so that hostile nesting is never walked. */
  group({ operator, criteria = [], ...others }: Group & object, where: string, depth: number): Filter | undefined {
    if (depth > MAX_NESTING) throw bad(`The criteria are nested deeper than ${MAX_NESTING} levels.`)
    if (operator !== undefined && !JUNCTIONS.includes(operator as string))
      throw bad(`${where}.operator must be and, or or not.`)
    const [unknown] = Object.keys(others)
    if (unknown !== undefined) throw bad(`${where} has an unknown part "${unknown}".`)
    if (!Array.isArray(criteria)) throw bad(`${where}.criteria must be an array.`)
    this.#count += criteria.length
    if (this.#count > MAX_CRITERIA) throw bad(`There are more than ${MAX_CRITERIA} criteria.`)
    if (criteria.length > 1 && operator === undefined)
      throw bad(`${where}.operator must say how the criteria are joined: and, or or not.`)
    const filters = criteria.flatMap(
      (criterion, index) => this.#criterion(criterion, `${where}.criteria[${index}]`, depth) ?? [],
    )
    if (filters.length === 0) return undefined
    if (operator === 'or') return { any: filters }
    return operator === 'not' ? { not: { all: filters } } : { all: filters }
  }

  #criterion(criterion: unknown, where: string, depth: number): Filter | undefined {
    if (typeof criterion !== 'object' || criterion === null || Array.isArray(criterion))
      throw bad(`${where} must be an object.`)
    if (!('fieldName' in criterion)) return this.group(criterion, where, depth + 1)
    const { fieldName, operator, value, value2, ...others } = criterion as Record<string, unknown>
    const [unknown] = Object.keys(others)
    if (unknown !== undefined) throw bad(`${where} has an unknown part "${unknown}".`)
    if (typeof fieldName !== 'string') throw bad(`${where}.fieldName must be a text.`)
    const name = typeof operator === 'string' ? operator : ''
    const known = Object.hasOwn(OPERATORS, name) ? OPERATORS[name] : undefined
    if (!known)
      throw bad(
        `${where}.operator must be one of ${Object.keys(OPERATORS).join(' ')}.${didYouMean(name, Object.keys(OPERATORS))}`,
      )
    const { through, field } = followPath(`${where}.fieldName`, fieldName, this.#context)
    const filter: Filter = {
      through,
      field,
      operator: known.operator,
      values: valuesOf(known.operator, field, value, value2, where),
    }
    return known.not ? { not: filter } : filter
  }
}

function valuesOf(operator: Operator, field: Field, value: unknown, value2: unknown, where: string) {
  if (operator === 'isSet') return []
  requireComparable(where, field)
  const typed = (single: unknown, name: string) => {
    const parsed = parseValue(field, single)
    if ('value' in parsed) return parsed.value
    throw bad(
      `${where}.${name} must be ${parsed.wanted}${single === null ? '; use isNull or notNull to ask whether it is set' : ''}.`,
    )
  }
  if (operator === 'in') {
    if (!Array.isArray(value) || value.length === 0 || value.length > MAX_VALUES)
      throw bad(`${where}.value must be an array of 1 to ${MAX_VALUES} values.`)
    return value.map((single, index) => typed(single, `value[${index}]`))
  }
  if (operator === 'between') return [typed(value, 'value'), typed(value2, 'value2')]
  if (operator !== 'like') return [typed(value, 'value')]
  requireText(where, field)
  if (typeof value !== 'string') throw bad(`${where}.value must be a text.`)
  return [likePattern(where, value)]
}
