import { isObject } from '../lib/is-object.ts'
import { didYouMean } from '../lib/nearest.ts'
import { compareCount, compareIds, comparePath, ID_OPERATORS, type IdOperator, type RawOperands } from './comparison.ts'
import {
  isToMany,
  parseExpand,
  parseFields,
  parseSort,
  requireRelation,
  resolvePath,
  targetModel,
  throughRelations,
} from './field-paths.ts'
import { explainForeignPart } from './foreign-names.ts'
import { BODY_OPERATORS, findOperator, type OperatorUse } from './operators.ts'
import {
  badRequest,
  DEFAULT_LIMIT,
  type Filter,
  MAX_ALL_VALUES,
  MAX_CRITERIA,
  MAX_VALUES,
  type Query,
  type QueryContext,
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
  data?: object
}

interface Group {
  operator?: unknown
  criteria?: unknown
}

const MAX_NESTING = 8
const JUNCTIONS = ['and', 'or', 'not']

/** Parses the body of a search. */
export function parseSearch(body: SearchBody, context: QueryContext): Query {
  if (body.after !== undefined && body.offset !== undefined)
    throw badRequest('"after" and "offset" exclude each other.')
  return {
    offset: body.offset ?? 0,
    limit: body.limit ?? DEFAULT_LIMIT,
    after: body.after,
    fields: body.fields && parseFields('"fields"', body.fields, context.model),
    sort: parseSort('"sortBy"', body.sortBy, context),
    expand: parseExpand('"expand"', body.expand, context),
    filter:
      body.data && new CriteriaParser().criterion(body.data, context, { where: 'data', depth: 0, relationCount: 0 }),
    textSearch: parseTextSearch('"q"', body.q, context.model),
  }
}

/** A value that stands for one of the user, in a rule: the username, or an attribute. */
export const USER_VALUE = /^\$user(?:\.([A-Za-z][A-Za-z0-9_]{0,63}))?$/

/** Parses criteria by themselves. In a template, values of a user are written as `$user.NAME`. */
export function parseCriteria(
  criteria: unknown,
  context: QueryContext,
  { isTemplate = false } = {},
): Filter | undefined {
  return new CriteriaParser(isTemplate).criterion(criteria, context, { where: 'where', depth: 0, relationCount: 0 })
}

/** SQLite limits the depth of an expression. */
const MAX_RELATIONS = 12

/** Where a part of the criteria stands, for error messages, and how deep. */
interface CriteriaPosition {
  where: string
  depth: number
  /** number of relations that lead here */
  relationCount: number
}

/** Operators that ask about the records behind a reference or an inverse field. */
const RELATED = ['some', 'none', 'count']
const IN: OperatorUse = { operator: findOperator('in'), not: false }

/** Operators that take a list of values. */
export const LIST_OPERATORS: readonly string[] = [
  ...[...BODY_OPERATORS].filter(([, { operator }]) => operator.takes === 'many').map(([name]) => name),
  ...ID_OPERATORS,
]

class CriteriaParser {
  readonly #isTemplate: boolean
  #count = 0
  #values = 0

  constructor(isTemplate = false) {
    this.#isTemplate = isTemplate
  }

  /** Parses a group. Checks depth and count first, so that hostile nesting is never traversed. */
  group(
    { operator, criteria = [], ...others }: Group & object,
    context: QueryContext,
    { where, depth, relationCount }: CriteriaPosition,
  ): Filter | undefined {
    if (depth > MAX_NESTING) throw badRequest(`The criteria are nested deeper than ${MAX_NESTING} levels.`)
    refuseOthers(where, others)
    if (operator !== undefined && !JUNCTIONS.includes(operator as string))
      throw badRequest(`${where}.operator must be and, or or not.`)
    if (!Array.isArray(criteria)) throw badRequest(`${where}.criteria must be an array.`)
    this.#count += criteria.length
    if (this.#count > MAX_CRITERIA) throw badRequest(`There are more than ${MAX_CRITERIA} criteria.`)
    if (criteria.length > 1 && operator === undefined)
      throw badRequest(`${where}.operator must say how the criteria are joined: and, or or not.`)
    // An empty group is no condition.
    const filters = criteria.flatMap(
      (criterion, index) =>
        this.criterion(criterion, context, { where: `${where}.criteria[${index}]`, depth, relationCount }) ?? [],
    )
    if (filters.length === 0) return undefined
    if (operator === 'or') return { any: filters }
    return operator === 'not' ? { not: { all: filters } } : { all: filters }
  }

  criterion(
    criterion: unknown,
    context: QueryContext,
    { where, depth, relationCount }: CriteriaPosition,
  ): Filter | undefined {
    if (!isObject(criterion)) throw badRequest(`${where} must be an object.`)
    if (!('fieldName' in criterion)) return this.group(criterion, context, { where, depth: depth + 1, relationCount })
    const { fieldName, operator, ...parts } = criterion as Record<string, unknown>
    if (typeof fieldName !== 'string') throw badRequest(`${where}.fieldName must be a text.`)
    const idOperator = ID_OPERATORS.find((one) => one === operator)
    // "none" also takes criteria.
    if (idOperator && (idOperator !== 'none' || Object.hasOwn(parts, 'value')))
      return this.#ids(fieldName, idOperator, parts, context, { where, depth, relationCount })
    if (RELATED.includes(operator as string))
      return this.#related(fieldName, operator as string, parts, context, { where, depth, relationCount })
    const { value, value2, ...others } = parts
    refuseOthers(where, others)
    const operatorUse = operatorNamed(`${where}.operator`, operator, [
      ...BODY_OPERATORS.keys(),
      ...new Set([...RELATED, ...ID_OPERATORS]),
    ])
    const resolved = resolvePath(`${where}.fieldName`, fieldName, context)
    limitRelations(relationCount + resolved.relations.length)
    return comparePath(`${where}.fieldName`, resolved, operatorUse, this.#operands(operatorUse, where, value, value2))
  }

  /** Parses a criterion about the records that a relation leads to: some of them, none of them, or their number. */
  #related(
    path: string,
    operator: string,
    parts: JsonObject,
    context: QueryContext,
    { where, depth, ...place }: CriteriaPosition,
  ): Filter {
    const { criteria, is = '=', value, value2 } = parts
    refuseOthers(where, without(parts, operator === 'count' ? ['criteria', 'is', 'value', 'value2'] : ['criteria']))
    const { relations, fieldName, model } = resolvePath(`${where}.fieldName`, path, context)
    const relation = requireRelation(`${where}.fieldName`, fieldName, model)
    const inner = { ...context, model: targetModel(relation, context.models) }
    if (depth >= MAX_NESTING) throw badRequest(`The criteria are nested deeper than ${MAX_NESTING} levels.`)
    limitRelations(place.relationCount + relations.length + 1)
    this.#count += 1
    const at = {
      where: `${where}.criteria`,
      depth: depth + 1,
      relationCount: place.relationCount + relations.length + 1,
    }
    const matching = criteria === undefined ? undefined : this.criterion(criteria, inner, at)
    if (operator === 'some') return throughRelations(relations, { relation, matching })
    if (operator === 'none') return throughRelations(relations, { not: { relation, matching } })
    const operatorUse = operatorNamed(`${where}.is`, is, [...BODY_OPERATORS.keys()])
    return throughRelations(
      relations,
      compareCount(relation, matching, operatorUse, this.#operands(operatorUse, where, value, value2)),
    )
  }

  /** Parses a criterion about the ids of the records that a relation leads to. */
  #ids(
    path: string,
    idOperator: IdOperator,
    parts: JsonObject,
    context: QueryContext,
    { where, ...place }: CriteriaPosition,
  ): Filter {
    const { value, ...others } = parts
    refuseOthers(where, others)
    const { relations, fieldName, model } = resolvePath(`${where}.fieldName`, path, context)
    const relation = requireRelation(`${where}.fieldName`, fieldName, model)
    if (!isToMany(relation))
      throw badRequest(`${where}.operator: "${fieldName}" refers to one record. Use "in" or "notIn".`)
    limitRelations(place.relationCount + relations.length + 1)
    return throughRelations(relations, compareIds(relation, idOperator, this.#operands(IN, where, value, undefined)))
  }

  #operands(operatorUse: OperatorUse, where: string, value: unknown, value2: unknown): RawOperands {
    if (this.#isTemplate) for (const one of [value, value2].flat()) requireUserValue(where, one)
    const listed = this.#isTemplate && isUserValue(value) && operatorUse.operator.takes === 'many' ? [value] : value
    const given = { ...givenIn(operatorUse, where, listed, value2), isTemplate: this.#isTemplate }
    this.#values += given.values.length
    if (this.#values > MAX_ALL_VALUES) throw badRequest(`There are more than ${MAX_ALL_VALUES} values in all criteria.`)
    return given
  }
}

const isUserValue = (value: unknown) => typeof value === 'string' && USER_VALUE.test(value)

function requireUserValue(where: string, value: unknown): void {
  if (typeof value === 'string' && value.startsWith('$') && !isUserValue(value))
    throw badRequest(`${where}: "${value}" must be $user, the username, or $user.NAME, an attribute of the user.`)
}

function limitRelations(relationCount: number): void {
  if (relationCount > MAX_RELATIONS)
    throw badRequest(`The criteria follow more than ${MAX_RELATIONS} references one after the other.`)
}

type JsonObject = Record<string, unknown>

const without = (row: JsonObject, names: string[]): JsonObject =>
  Object.fromEntries(Object.entries(row).filter(([name]) => !names.includes(name)))

function refuseOthers(where: string, others: JsonObject): void {
  const [unknown] = Object.keys(others)
  if (unknown !== undefined)
    throw badRequest(`${where} has an unknown part "${unknown}".${explainForeignPart(unknown)}`)
}

function operatorNamed(where: string, operator: unknown, known: string[]): OperatorUse {
  const operatorName = typeof operator === 'string' ? operator : ''
  const operatorUse = BODY_OPERATORS.get(operatorName)
  if (operatorUse) return operatorUse
  throw badRequest(`${where} must be one of ${known.join(' ')}.${didYouMean(operatorName, known)}`)
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
