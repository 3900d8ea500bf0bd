/** Each of these is false for NULL. Their opposites wrap them in `not`, and so are true for NULL. */
export type OperatorName = 'eq' | 'gt' | 'gte' | 'lt' | 'lte' | 'like' | 'in' | 'between' | 'isSet'

/**
 * The names and operands of an operator. Its SQL, its description and its comparison of groups are in other files:
 * "Where to change what" in `src/README.md` lists them.
 */
export interface Operator {
  name: OperatorName
  /** number or kind of its values */
  takes: 'none' | 'one' | 'two' | 'many' | 'pattern'
  /** what an index can find for it: a single value, or a range */
  finds?: 'value' | 'range'
  /** its names after a field's name in a query string; equality needs none */
  parameter: { is?: string; not?: string }
  meaning: { is?: string; not?: string }
  /** its names in the body of a search */
  body: { is: string; not?: string }
}

export const OPERATORS: readonly Operator[] = [
  {
    name: 'eq',
    takes: 'one',
    finds: 'value',
    parameter: { not: 'ne' },
    meaning: { is: 'Equals.', not: 'Does not equal, or is not set.' },
    body: { is: '=', not: '!=' },
  },
  {
    name: 'gt',
    takes: 'one',
    finds: 'range',
    parameter: { is: 'gt' },
    meaning: { is: 'Greater than.' },
    body: { is: '>' },
  },
  {
    name: 'gte',
    takes: 'one',
    finds: 'range',
    parameter: { is: 'gte' },
    meaning: { is: 'Greater than or equal.' },
    body: { is: '>=' },
  },
  {
    name: 'lt',
    takes: 'one',
    finds: 'range',
    parameter: { is: 'lt' },
    meaning: { is: 'Less than.' },
    body: { is: '<' },
  },
  {
    name: 'lte',
    takes: 'one',
    finds: 'range',
    parameter: { is: 'lte' },
    meaning: { is: 'Less than or equal.' },
    body: { is: '<=' },
  },
  {
    name: 'like',
    takes: 'pattern',
    parameter: { is: 'like', not: 'notLike' },
    meaning: {
      is: 'Contains; with `%` and `_`, a pattern. Case and accents do not matter.',
      not: 'Does not contain, or is not set.',
    },
    body: { is: 'like', not: 'notLike' },
  },
  {
    name: 'in',
    takes: 'many',
    finds: 'value',
    parameter: { is: 'in', not: 'notIn' },
    meaning: { is: 'Equals one of these, separated by commas.', not: 'Equals none of these, or is not set.' },
    body: { is: 'in', not: 'notIn' },
  },
  {
    name: 'between',
    takes: 'two',
    finds: 'range',
    parameter: { is: 'between', not: 'notBetween' },
    meaning: {
      is: 'From the first to the second, separated by a comma.',
      not: 'Not from the first to the second, or is not set.',
    },
    body: { is: 'between', not: 'notBetween' },
  },
  {
    name: 'isSet',
    takes: 'none',
    // In a query string its name is `null`, with the value true or false instead of an opposite.
    parameter: { is: 'null' },
    meaning: { is: '`true`: is not set; `false`: is set.' },
    body: { is: 'notNull', not: 'isNull' },
  },
]

/** An operator, perhaps negated. */
export interface OperatorUse {
  operator: Operator
  not: boolean
}

/** The operators by their names in query strings and in search bodies. */
export const PARAMETER_OPERATORS = operatorsBy((operator) => operator.parameter)
export const BODY_OPERATORS = operatorsBy((operator) => operator.body)

function operatorsBy(textsOf: (operator: Operator) => { is?: string; not?: string }): ReadonlyMap<string, OperatorUse> {
  return new Map(
    OPERATORS.flatMap((operator): [string, OperatorUse][] => {
      const { is, not } = textsOf(operator)
      return [
        ...(is === undefined ? [] : [[is, { operator, not: false }] satisfies [string, OperatorUse]]),
        ...(not === undefined ? [] : [[not, { operator, not: true }] satisfies [string, OperatorUse]]),
      ]
    }),
  )
}

export const findOperator = (wanted: OperatorName) => OPERATORS.find(({ name }) => name === wanted) as Operator
