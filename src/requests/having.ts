import { didYouMean } from '../lib/nearest.ts'
import { BODY_WORDS, type OperatorName } from './operators.ts'
import { badRequest } from './query.ts'

/** A condition on the rows of an aggregate. */
export type Having =
  | { all: Having[] }
  | { any: Having[] }
  | { not: Having }
  | { name: string; operator: OperatorName; values: (string | number | boolean)[] }

/** What an answer has, by name. */
type Named = ReadonlyMap<string, unknown>

const MAX_NESTING = 8
const MAX_CONDITIONS = 100

/** Parses `having`: criteria as in a search, whose fields are names of groups and values. */
export function parseHaving(having: unknown, named: Named): Having {
  let left = MAX_CONDITIONS
  const parse = (criterion: unknown, where: string, depth: number): Having => {
    if (typeof criterion !== 'object' || criterion === null) throw badRequest(`${where} must be an object.`)
    if (depth > MAX_NESTING || left-- <= 0)
      throw badRequest(`"having" has more than ${MAX_CONDITIONS} conditions, or more than ${MAX_NESTING} levels.`)
    if ('fieldName' in criterion) return parseCondition(criterion as Record<string, unknown>, where, named)
    const { operator = 'and', criteria } = criterion as { operator?: unknown; criteria?: unknown }
    if (!Array.isArray(criteria)) throw badRequest(`${where}.criteria must be an array.`)
    const inner = criteria.map((one, index) => parse(one, `${where}.criteria[${index}]`, depth + 1))
    if (operator === 'or') return { any: inner }
    if (operator === 'and') return { all: inner }
    if (operator === 'not') return { not: { all: inner } }
    throw badRequest(`${where}.operator must be and, or or not.`)
  }
  return parse(having, 'having', 1)
}

function parseCondition(
  { fieldName, operator, value, value2 }: Record<string, unknown>,
  where: string,
  named: Named,
): Having {
  const name = String(fieldName)
  if (!named.has(name))
    throw badRequest(`${where}.fieldName: "${name}" is not in the answer.${didYouMean(name, named.keys())}`)
  const asked = BODY_WORDS.get(String(operator))
  if (!asked || asked.operator.takes === 'pattern')
    throw badRequest(
      `${where}.operator must be one of ${[...BODY_WORDS.keys()].filter((word) => !word.endsWith('ike')).join(' ')}.`,
    )
  const { takes } = asked.operator
  const values = takes === 'none' ? [] : takes === 'many' ? value : takes === 'two' ? [value, value2] : [value]
  const isPlain = (one: unknown) => ['string', 'number', 'boolean'].includes(typeof one)
  if (!Array.isArray(values) || !values.every(isPlain)) throw badRequest(`${where}.value is not one to compare with.`)
  const condition: Having = { name, operator: asked.operator.name, values }
  return asked.not ? { not: condition } : condition
}
