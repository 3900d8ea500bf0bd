import { findFormat } from '../model/formats.ts'
import { type Field, ID_FIELD, isText } from '../model/model.ts'
import { isToMany, ownField, type ResolvedPath, throughRelations } from './field-paths.ts'
import type { OperatorUse } from './operators.ts'
import { badRequest, type Comparison, type Filter, likePattern, MAX_VALUES, type Relation } from './query.ts'
import { type Parsed, parseText, parseValue } from './values.ts'

/** The unparsed right-hand side of a comparison: texts of a query string, or values of a JSON body. */
export interface RawOperands {
  /** the place in the request, for error messages */
  where: string
  values: { name: string; value: unknown }[]
  /** whether the values are texts of a query string, whatever the field's type */
  isText: boolean
  /** whether texts that begin with `$` stand for values of a user */
  isTemplate?: boolean
}

/** Makes a filter of a field, an operator and values. Every error names the place in the request. */
export function createComparison(
  through: Field[],
  field: Field,
  { operator, not }: OperatorUse,
  given: RawOperands,
): Filter {
  const values = parseValues(operator.takes, field, given)
  if (operator.finds === 'value' && !given.isTemplate) requireChoices(given.where, field, values)
  const filter: Filter = { through, field, operator: operator.name, values }
  return not ? { not: filter } : filter
}

/** Throws if a value is none of the field's choices: nothing would be found, and a typing error is more likely. */
function requireChoices(where: string, { name, schema, format }: Field, values: Comparison['values']): void {
  // Numbers, dates and times are compared by their meaning, however they are written.
  const choices = findFormat(format)?.column ? undefined : (schema.enum as unknown[] | undefined)
  const wrong = choices && values.find((value) => !choices.includes(value))
  if (wrong === undefined) return
  const shown = (choices as unknown[]).slice(0, MAX_CHOICES).map((choice) => JSON.stringify(choice))
  throw badRequest(`${where}: ${JSON.stringify(wrong)} is no value of "${name}", which has ${shown.join(', ')}.`)
}

/** Choices that a message lists. */
const MAX_CHOICES = 50

/**
 * The comparison of a field at the end of a path. Through an inverse field, a record matches if at least one of its
 * related records does; a negated operator negates the comparison of that one.
 */
export function comparePath(
  where: string,
  { relations, fieldName, model }: ResolvedPath,
  operatorUse: OperatorUse,
  given: RawOperands,
  alsoKnown?: string[],
): Filter {
  const last = ownField(where, fieldName, model, alsoKnown)
  if (relations.some(isToMany)) return throughRelations(relations, createComparison([], last, operatorUse, given))
  return createComparison(relations as Field[], last, operatorUse, given)
}

const COUNT: Field = { ...ID_FIELD, name: 'count' }

/** A filter by the number of records that a relation leads to. */
export function compareCount(
  relation: Relation,
  matching: Filter | undefined,
  { operator, not }: OperatorUse,
  given: RawOperands,
): Filter {
  const count = createComparison([], COUNT, { operator, not: false }, given) as Comparison
  const filter = { relation, matching, count }
  return not ? { not: filter } : filter
}

/** Operators that ask about the ids of the records that a relation leads to. */
export const ID_OPERATORS = ['any', 'all', 'none'] as const
export type IdOperator = (typeof ID_OPERATORS)[number]

/** A filter by the ids of records that a relation leads to: any of them, all of them, or none of them. */
export function compareIds(relation: Relation, operator: IdOperator, given: RawOperands): Filter {
  const ids = parseValues('many', ID_FIELD, given) as number[]
  const filter: Filter = { relation, ids: { values: [...new Set(ids)], isAll: operator === 'all' } }
  return operator === 'none' ? { not: filter } : filter
}

/** Why a field that refers to several records is not compared as others are. */
const explainSeveralIds = ({ name }: Field) =>
  `"${name}" refers to several records: use ${name}[any], ${name}[all], ${name}[none], ${name}[count] or ${name}.FIELD`

function parseValues(
  takes: OperatorUse['operator']['takes'],
  field: Field,
  { where, values, isText, isTemplate = false }: RawOperands,
) {
  if (takes === 'none') return []
  if (field.links) throw badRequest(`${where}: ${explainSeveralIds(field)}.`)
  if (field.type === 'array' || field.type === 'object')
    throw badRequest(`${where}: "${field.name}" is an ${field.type}; it can only be asked whether it is set.`)
  if (takes === 'many' && (values.length === 0 || values.length > MAX_VALUES))
    throw badRequest(`${where} takes 1 to ${MAX_VALUES} values.`)
  if (takes === 'pattern') return [parsePattern(where, field, values[0]?.value)]
  return values.map(({ name, value }) => {
    if (isTemplate && typeof value === 'string' && value.startsWith('$'))
      return requireComparableWithUserValue(where, field, value)
    const parsed: Parsed = isText ? parseText(field, value as string) : parseValue(field, value)
    if ('value' in parsed) return parsed.value
    throw badRequest(`${where}${name} must be ${parsed.wanted}${hintFor(value)}.`)
  })
}

/** Throws if no value of a user can be compared with a field: they are texts and numbers. */
function requireComparableWithUserValue(where: string, field: Field, value: string): string {
  const isName = value === '$user'
  if (field.type === 'boolean' || (isName && !isText(field)))
    throw badRequest(`${where}: ${value} is ${isName ? 'a text' : 'a text or a number'}, and "${field.name}" is not.`)
  return value
}

/** A hint for the most common mistakes. */
function hintFor(value: unknown): string {
  if (value === null) return '; use isNull or notNull to ask whether it is set'
  // A query string decodes 10:30:00+02:00 to 10:30:00 02:00.
  if (/\d \d\d:\d\d$/.test(String(value))) return '; in an address a "+" means a space: write it as "%2B"'
  return ''
}

function parsePattern(where: string, field: Field, pattern: unknown): string {
  if (field.type !== 'string') throw badRequest(`${where}: "like" is for texts, and "${field.name}" is not one.`)
  if (typeof pattern !== 'string') throw badRequest(`${where}.value must be a text.`)
  return likePattern(where, pattern)
}
