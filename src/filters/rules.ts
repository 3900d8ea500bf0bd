import type { Failure } from '../errors.ts'
import { didYouMean } from '../lib/nearest.ts'
import { type AccessRule, type Attributes, OPERATIONS, type Operation, type User } from '../model/access.ts'
import type { ModelFault } from '../model/load.ts'
import { byName, type Model, type Models } from '../model/model.ts'
import { LIST_OPERATORS, parseCriteria, USER_VALUE } from '../requests/criteria.ts'
import type { Filter, QueryContext } from '../requests/query.ts'

/** A rule of a model's `access`: `{ "role": "sales", "where": CRITERIA }`. */
type RowRule = AccessRule & { where: object }

export const isRowRule = (rule: AccessRule): rule is RowRule => rule.where !== undefined

/** Row rules of a model, and where its file has them. */
export const rowRules = ({ access }: Model): { rule: RowRule; operation: Operation; pointer: string }[] =>
  OPERATIONS.flatMap((operation) =>
    access[operation].flatMap((rule, index) =>
      isRowRule(rule) ? [{ rule, operation, pointer: `/access/${operation}/${index}/where` }] : [],
    ),
  )

/** The filter of a rule as it is written: values of a user stand in it as `$user.NAME`. */
export const ruleTemplate = ({ where }: RowRule, context: QueryContext): Filter | undefined =>
  parseCriteria(where, context, { isTemplate: true })

/** Finds faults in the rules of all models. */
export function checkRules(models: Model[]): ModelFault[] {
  const all = byName(models)
  return models.flatMap((model) =>
    rowRules(model).flatMap(({ rule, pointer }) => {
      const message = ruleFault(rule, { model, models: all })
      return message === undefined ? [] : [{ model: model.name, pointer, message }]
    }),
  )
}

function ruleFault(rule: RowRule, context: QueryContext): string | undefined {
  try {
    if (ruleTemplate(rule, context)) return undefined
    return 'has no criteria: leave "where" out, if the role may access all records.'
  } catch (error) {
    // The parser throws nothing else.
    return (error as Failure).message
  }
}

/** Names of the attributes that a rule compares with; undefined is the username. Cached: every request needs it. */
function userValuesIn(rule: RowRule): (string | undefined)[] {
  const cached = userValues.get(rule)
  if (cached) return cached
  const matches = textsIn(rule.where).flatMap((text) => [USER_VALUE.exec(text)].filter((match) => match !== null))
  const names = [...new Set(matches.map(([, name]) => name))]
  userValues.set(rule, names)
  return names
}

const userValues = new WeakMap<RowRule, (string | undefined)[]>()

/** The names of the attributes that a rule compares with. */
const attributesIn = (rule: RowRule) => userValuesIn(rule).filter((name) => name !== undefined)

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : []
}

/** Attributes in rules that no user has: such a rule matches nothing. */
export function unknownAttributes(models: Model[], users: { attributes: Attributes }[]): ModelFault[] {
  const attributeNames = [...new Set(users.flatMap((user) => Object.keys(user.attributes)))]
  return models.flatMap((model) =>
    rowRules(model).flatMap(({ rule, pointer }) =>
      attributesIn(rule)
        .filter((name) => !attributeNames.includes(name))
        .map((name) => ({
          model: model.name,
          pointer,
          message: `no user has the attribute "${name}", so this matches nothing.${didYouMean(name, attributeNames)}`,
        })),
    ),
  )
}

/**
 * The filter of a rule for a user. Undefined, so that no record matches, if the user lacks one of the attributes, or if
 * its value does not fit: a text where a number is compared, a list where the operator takes one value.
 */
export function ruleFor(rule: RowRule, user: User, context: { model: Model; models: Models }): Filter | undefined {
  const lacks = userValuesIn(rule).some((name) => [attributeOf(user, name)].flat().length === 0)
  if (lacks) return undefined
  try {
    return parseCriteria(withValues(rule.where, user), context)
  } catch {
    // The parser refuses values that do not fit, and throws nothing else.
    return undefined
  }
}

/** The values of a user that a rule compares with. Reaches of users with equal values are the same. */
export const valuesFor = (rule: RowRule, user: User): unknown[] =>
  userValuesIn(rule).map((name) => attributeOf(user, name))

function attributeOf({ username, attributes = {} }: User, name: string | undefined): unknown {
  if (name === undefined) return username
  return Object.hasOwn(attributes, name) ? attributes[name] : []
}

type Parts = Record<string, unknown>

/** Criteria with the values of a user. */
function withValues(criteria: unknown, user: User): object {
  const { fieldName, criteria: inner, ...parts } = criteria as Parts
  const below = Array.isArray(inner) ? inner.map((one) => withValues(one, user)) : inner && withValues(inner, user)
  const own = Object.fromEntries(
    ['value', 'value2']
      .filter((name) => Object.hasOwn(parts, name))
      .map((name) => [
        name,
        userValue(
          parts[name],
          LIST_OPERATORS.includes(String(parts.operator === 'count' ? parts.is : parts.operator)),
          user,
        ),
      ]),
  )
  return {
    ...(fieldName !== undefined && { fieldName }),
    ...parts,
    ...own,
    ...(below !== undefined && { criteria: below }),
  }
}

function userValue(value: unknown, isList: boolean, user: User): unknown {
  const single = (one: unknown) => {
    const match = typeof one === 'string' ? USER_VALUE.exec(one) : null
    return match ? attributeOf(user, match[1]) : one
  }
  if (isList) return [value].flat().flatMap(single)
  return single(value)
}
