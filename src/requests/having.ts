import { didYouMean } from '../lib/nearest.ts'
import type { Field } from '../model/model.ts'
import { createComparison } from './comparison.ts'
import { BODY_OPERATORS, type OperatorUse } from './operators.ts'
import { badRequest, type Filter } from './query.ts'

const MAX_NESTING = 8
const MAX_CONDITIONS = 100
const OPERATOR_NAMES = [...BODY_OPERATORS]
  .filter(([, { operator }]) => operator.takes !== 'pattern')
  .map(([name]) => name)

/**
 * Parses `having`: criteria as in a search. `fields` are what the answer has, by name, as fields with the type and
 * format of their values.
 */
export function parseHaving(having: unknown, fields: ReadonlyMap<string, Field>): Filter {
  let left = MAX_CONDITIONS
  const parse = (criterion: unknown, where: string, depth: number): Filter => {
    if (typeof criterion !== 'object' || criterion === null) throw badRequest(`${where} must be an object.`)
    if (depth > MAX_NESTING || left-- <= 0)
      throw badRequest(`"having" has more than ${MAX_CONDITIONS} conditions, or more than ${MAX_NESTING} levels.`)
    if ('fieldName' in criterion) return parseCondition(criterion as Record<string, unknown>, where, fields)
    const { operator = 'and', criteria } = criterion as { operator?: unknown; criteria?: unknown }
    if (!Array.isArray(criteria)) throw badRequest(`${where}.criteria must be an array.`)
    if (operator !== 'and' && operator !== 'or' && operator !== 'not')
      throw badRequest(`${where}.operator must be and, or or not.`)
    const inner = criteria.map((one, index) => parse(one, `${where}.criteria[${index}]`, depth + 1))
    // As in a search, an empty group is no condition.
    if (operator === 'and' || inner.length === 0) return { all: inner }
    return operator === 'or' ? { any: inner } : { not: { all: inner } }
  }
  return parse(having, 'having', 1)
}

function parseCondition(
  { fieldName, operator, value, value2 }: Record<string, unknown>,
  where: string,
  fields: ReadonlyMap<string, Field>,
): Filter {
  const name = String(fieldName)
  const field = fields.get(name)
  if (!field) throw badRequest(`${where}.fieldName: "${name}" is not in the answer.${didYouMean(name, fields.keys())}`)
  const operatorName = String(operator)
  if (!OPERATOR_NAMES.includes(operatorName))
    throw badRequest(`${where}.operator must be one of ${OPERATOR_NAMES.join(' ')}.`)
  const operatorUse = BODY_OPERATORS.get(operatorName) as OperatorUse
  const { takes } = operatorUse.operator
  if (takes === 'many' && !Array.isArray(value)) throw badRequest(`${where}.value must be an array.`)
  const given = takes === 'many' ? (value as unknown[]) : takes === 'two' ? [value, value2] : [value]
  return createComparison([], field, operatorUse, {
    where,
    values: given.map((one) => ({ name: '.value', value: one })),
    isText: false,
  })
}
