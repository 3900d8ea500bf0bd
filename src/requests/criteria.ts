import { didYouMean } from '../lib/nearest.ts'
import { createComparison, type RawOperands } from './comparison.ts'
import { BODY_WORDS, type OperatorUse } from './operators.ts'
import { followPath, parseExpand, parseFields, parseSort } from './paths.ts'
import {
  badRequest,
  type Context,
  DEFAULT_LIMIT,
  type Filter,
  MAX_ALL_VALUES,
  MAX_CRITERIA,
  MAX_VALUES,
  type Query,
} from './query.ts'
import { parseTextSearch } from './text-search.ts'

/** The body of a search. Its schema has been validated, except for the criteria in `data`. */
export interface SearchBody {
  offset?: number
  limit?: number
  after?: string
  fields?: string[]
  sortBy?: string[]
  q?: string
  expand?: string[]
  data: Group
}

interface Group {
  operator?: unknown
  criteria?: unknown
}

const MAX_NESTING = 8
const JUNCTIONS = ['and', 'or', 'not']

/** Parses the body of a search. */
export function parseSearch(body: SearchBody, context: Context): Query {
  if (body.after !== undefined && body.offset !== undefined)
    throw badRequest('"after" and "offset" exclude each other.')
  return {
    offset: body.offset ?? 0,
    limit: body.limit ?? DEFAULT_LIMIT,
    after: body.after,
    fields: body.fields && parseFields('"fields"', body.fields, context.model),
    sort: parseSort('"sortBy"', body.sortBy, context),
    expand: parseExpand('"expand"', body.expand, context),
    filter: new CriteriaParser(context).group(body.data, 'data', 1),
    search: parseTextSearch('"q"', body.q, context.model),
  }
}

class CriteriaParser {
  readonly #context: Context
  #count = 0
  #values = 0

  constructor(context: Context) {
    this.#context = context
  }

  /** Parses a group. Checks depth and count first, so that hostile nesting is never traversed. */
  group({ operator, criteria = [], ...others }: Group & object, where: string, depth: number): Filter | undefined {
    if (depth > MAX_NESTING) throw badRequest(`The criteria are nested deeper than ${MAX_NESTING} levels.`)
    if (operator !== undefined && !JUNCTIONS.includes(operator as string))
      throw badRequest(`${where}.operator must be and, or or not.`)
    const [unknown] = Object.keys(others)
    if (unknown !== undefined) throw badRequest(`${where} has an unknown part "${unknown}".`)
    if (!Array.isArray(criteria)) throw badRequest(`${where}.criteria must be an array.`)
    this.#count += criteria.length
    if (this.#count > MAX_CRITERIA) throw badRequest(`There are more than ${MAX_CRITERIA} criteria.`)
    if (criteria.length > 1 && operator === undefined)
      throw badRequest(`${where}.operator must say how the criteria are joined: and, or or not.`)
    // An empty group is no condition.
    const filters = criteria.flatMap(
      (criterion, index) => this.#criterion(criterion, `${where}.criteria[${index}]`, depth) ?? [],
    )
    if (filters.length === 0) return undefined
    if (operator === 'or') return { any: filters }
    return operator === 'not' ? { not: { all: filters } } : { all: filters }
  }

  #criterion(criterion: unknown, where: string, depth: number): Filter | undefined {
    if (typeof criterion !== 'object' || criterion === null || Array.isArray(criterion))
      throw badRequest(`${where} must be an object.`)
    if (!('fieldName' in criterion)) return this.group(criterion, where, depth + 1)
    const { fieldName, operator, value, value2, ...others } = criterion as Record<string, unknown>
    const [unknown] = Object.keys(others)
    if (unknown !== undefined) throw badRequest(`${where} has an unknown part "${unknown}".`)
    if (typeof fieldName !== 'string') throw badRequest(`${where}.fieldName must be a text.`)
    const word = typeof operator === 'string' ? operator : ''
    const asked = BODY_WORDS.get(word)
    if (!asked)
      throw badRequest(
        `${where}.operator must be one of ${[...BODY_WORDS.keys()].join(' ')}.${didYouMean(word, BODY_WORDS.keys())}`,
      )
    const { through, field } = followPath(`${where}.fieldName`, fieldName, this.#context)
    const given = givenIn(asked, where, value, value2)
    this.#values += given.values.length
    if (this.#values > MAX_ALL_VALUES) throw badRequest(`There are more than ${MAX_ALL_VALUES} values in all criteria.`)
    return createComparison(through, field, asked, given)
  }
}

function givenIn({ operator: { takes } }: OperatorUse, where: string, value: unknown, value2: unknown): RawOperands {
  if (takes === 'many') {
    if (!Array.isArray(value) || value.length === 0 || value.length > MAX_VALUES)
      throw badRequest(`${where}.value must be an array of 1 to ${MAX_VALUES} values.`)
    const values = value.map((single, index) => ({ name: `.value[${index}]`, value: single }))
    return { where, values, isText: false }
  }
  const first = { name: '.value', value }
  return { where, values: takes === 'two' ? [first, { name: '.value2', value: value2 }] : [first], isText: false }
}
