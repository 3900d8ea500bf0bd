/** Each of these is false where nothing is stored; their opposites are `not` around them, and true there. */
export type OperatorName = 'eq' | 'gt' | 'gte' | 'lt' | 'lte' | 'like' | 'in' | 'between' | 'isSet'

/** All there is to know of a comparison but its SQL: another one is a row here, and how `records/where.ts` says it. */
export interface Operator {
  name: OperatorName
  /** how many values it takes */
  takes: 'none' | 'one' | 'two' | 'many' | 'pattern'
  /** what an index does for it: find the value at once, or a range of them */
  finds?: 'value' | 'range'
  /** after a field's name in a query string; equality needs no word */
  parameter: { is?: string; not?: string }
  meaning: { is?: string; not?: string }
  /** in the body of a search */
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
    parameter: { is: 'like' },
    meaning: { is: 'Contains; with `%` and `_`, a pattern. Case does not matter.' },
    body: { is: 'like', not: 'notLike' },
  },
  {
    name: 'in',
    takes: 'many',
    finds: 'value',
    parameter: { is: 'in' },
    meaning: { is: 'Equals one of these, separated by commas.' },
    body: { is: 'in', not: 'notIn' },
  },
  {
    name: 'between',
    takes: 'two',
    finds: 'range',
    parameter: { is: 'between' },
    meaning: { is: 'From the first to the second, separated by a comma.' },
    body: { is: 'between', not: 'notBetween' },
  },
  {
    name: 'isSet',
    takes: 'none',
    // In a query string it is `null`, which takes true or false instead of having an opposite.
    parameter: { is: 'null' },
    meaning: { is: '`true`: is not set; `false`: is set.' },
    body: { is: 'notNull', not: 'isNull' },
  },
]

/** A comparison as it was asked for, perhaps turned around. */
export interface Asked {
  operator: Operator
  not: boolean
}

/** The words of query strings, and of bodies, with what they mean. */
export const PARAMETER_WORDS = operatorWords((operator) => operator.parameter)
export const BODY_WORDS = operatorWords((operator) => operator.body)

function operatorWords(words: (operator: Operator) => { is?: string; not?: string }): ReadonlyMap<string, Asked> {
  return new Map(
    OPERATORS.flatMap((operator): [string, Asked][] => {
      const { is, not } = words(operator)
      return [
        ...(is === undefined ? [] : [[is, { operator, not: false }] satisfies [string, Asked]]),
        ...(not === undefined ? [] : [[not, { operator, not: true }] satisfies [string, Asked]]),
      ]
    }),
  )
}

export const operatorNamed = (wanted: OperatorName) => OPERATORS.find(({ name }) => name === wanted) as Operator
