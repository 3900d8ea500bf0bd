import { escapePattern } from '../../lib/fold.ts'
import { say } from '../language/say.ts'
import { canSearch, type Field, findField, hasLinks, isText, type Model, referredName } from './model.ts'
import { periodBounds, periodTitle } from './periods.ts'
import { type FormatSettings, formatValue } from './values.ts'

/** A condition as a parameter of the address: `age[gte]=18`. */
export interface Condition {
  parameter: string
  value: string
}

/** A condition of a find, and what its parameter means. */
export interface Filter extends Condition {
  path: string
  /** empty for "equals" */
  operator: string
}

/** Parameters of a find that are not conditions. */
const OTHERS = ['sort', 'fields', 'offset', 'limit', 'after', 'expand']
/** Conditions of which one has to hold; its value is a query string itself. */
export const OR_PARAMETER = 'or'
/** Searches the records for words. */
export const WORDS_PARAMETER = 'q'
/**
 * Operator of periods that move with the clock. Only the page knows it: `serviceQuery` tells the service what they are
 * now.
 */
export const PERIOD = 'within'
/** Parameters of the table itself: how it is grouped and what stands in its foot. */
const TABLE_PREFIX = 'table.'
export const GROUP_PARAMETER = `${TABLE_PREFIX}group`
export const OPEN_PARAMETER = `${TABLE_PREFIX}open`
export const FOOT_PARAMETER = `${TABLE_PREFIX}foot`
const isTableParameter = (parameter: string) => parameter.startsWith(TABLE_PREFIX)
/** Without groups and foot. */
export const withoutTable = (query: URLSearchParams) =>
  new URLSearchParams([...query].filter(([parameter]) => !isTableParameter(parameter)))
/** A path in the address that stands for all text fields of the model's list. */
const ANY_TEXT = '*'

/** The conditions of an address. A model may have fields with the names of the parameters for words and groups. */
export function filtersIn(query: URLSearchParams, model?: Model): Filter[] {
  const isWords = model === undefined || canSearch(model)
  return [...query].flatMap(([parameter, value]) => {
    if (OTHERS.includes(parameter) || isTableParameter(parameter) || (isWords && parameter === WORDS_PARAMETER))
      return []
    if (parameter === OR_PARAMETER && hasGroups(model)) return []
    const [, path = parameter, operator = ''] = /^([^[]*)(?:\[(.*)\])?$/.exec(parameter) ?? []
    return [{ parameter, path, operator, value }]
  })
}

const hasGroups = (model: Model | undefined) => model === undefined || findField(model, OR_PARAMETER) === undefined

/** Groups of conditions: of each, one condition has to hold. */
export const groupsIn = (query: URLSearchParams, model?: Model): Filter[][] =>
  hasGroups(model) ? query.getAll(OR_PARAMETER).map((text) => filtersIn(new URLSearchParams(text))) : []

/** Replaces the groups. A group of one is an ordinary condition, unless there is one with the same parameter. */
export function withGroups(query: URLSearchParams, groups: Condition[][]): URLSearchParams {
  const next = new URLSearchParams(query)
  next.delete(OR_PARAMETER)
  for (const [only, ...more] of groups) {
    if (only && more.length === 0 && !next.has(only.parameter)) next.append(only.parameter, only.value)
    else if (only) next.append(OR_PARAMETER, groupText([only, ...more]))
  }
  return next
}

const groupText = (group: Condition[]) =>
  String(new URLSearchParams(group.map(({ parameter, value }): [string, string] => [parameter, value])))

/** Adds a condition, or replaces the one on the same field with the same operator. */
export function withFilter(query: URLSearchParams, parameter: string, value: string): URLSearchParams {
  const next = new URLSearchParams(query)
  next.set(parameter, value)
  return next
}

export function withoutFilter(query: URLSearchParams, parameter: string): URLSearchParams {
  const next = new URLSearchParams(query)
  next.delete(parameter)
  return next
}

export function withoutFilters(query: URLSearchParams): URLSearchParams {
  const next = new URLSearchParams(query)
  for (const { parameter } of filtersIn(query)) next.delete(parameter)
  next.delete(WORDS_PARAMETER)
  next.delete(OR_PARAMETER)
  return next
}

/** Dates and times are before and after each other. */
const TIME_WORDS: Record<string, string> = { gt: say('after'), gte: say('from'), lt: say('before'), lte: say('until') }

const WORDS: Record<string, string> = {
  '': say('is'),
  ne: say('is not'),
  gt: '>',
  gte: '≥',
  lt: '<',
  lte: '≤',
  like: say('contains'),
  notLike: say('does not contain'),
  any: say('has one of'),
  all: say('has all of'),
  none: say('has none of'),
  in: say('is one of'),
  notIn: say('is none of'),
  between: say('between'),
  notBetween: say('not between'),
  [PERIOD]: say('is in'),
  unset: say('is not set'),
  set: say('is set'),
}

export function comparisonWord(comparison: string, field?: Field): string {
  const words = isTime(field) ? { ...WORDS, ...TIME_WORDS } : WORDS
  return Object.hasOwn(words, comparison) ? String(words[comparison]) : comparison
}

const isTime = (field: Field | undefined) => ['date', 'time', 'date-time'].includes(field?.format ?? '')

/** `escapePattern` and its inverse. */
export { escapePattern }
export const unescapePattern = (pattern: string) => pattern.replace(/\\([\\%_])/g, '$1')

/** Whether a comparison takes a pattern. */
export const isPattern = (comparison: string) => comparison === 'like' || comparison === 'notLike'

const WHETHER = ['unset', 'set']
const ORDERED = ['', 'gte', 'lte', 'gt', 'lt', 'between', 'ne']
const LISTS = ['in', 'notIn']
/** Comparisons with the ids of several records. */
const LINKS = ['any', 'all', 'none']
/** How a field with several references is asked whether it has any: it may be an empty array, too. */
const COUNTS: Record<string, { operator: string; value: string }> = {
  unset: { operator: 'count', value: '0' },
  set: { operator: 'count][gte', value: '1' },
}

/** Whether a comparison takes any number of values. */
export const isList = (comparison: string) => LISTS.includes(comparison) || LINKS.includes(comparison)

/** The comparison that the user chooses: the operator, except that `null` is split into "is set" and "is not set". */
export function filterComparison({ operator, value }: Filter): string {
  if (operator === 'null') return value === 'true' ? 'unset' : 'set'
  const counted = WHETHER.find((word) => COUNTS[word]?.operator === operator && COUNTS[word].value === value)
  return counted ?? operator
}

/** Inverse of `filterComparison`: the URL parameter for a comparison. */
export function createCondition(path: string, comparison: string, values: string[], isLinks = false): Condition {
  const count = isLinks ? COUNTS[comparison] : undefined
  if (count) return { parameter: `${path}[${count.operator}]`, value: count.value }
  if (WHETHER.includes(comparison)) return { parameter: `${path}[null]`, value: String(comparison === 'unset') }
  return { parameter: comparison === '' ? path : `${path}[${comparison}]`, value: values.join(',') }
}

/** The comparisons that make sense for a field, the most useful first. Periods are not for fields of other records. */
export function fieldComparisons(field: Field, isFar = false): string[] {
  if (hasLinks(field)) return [...LINKS, ...WHETHER]
  if (field.type === 'array' || field.type === 'object') return WHETHER
  if (field.type === 'boolean') return ['', ...WHETHER]
  if (field.reference !== undefined) return ['', 'ne', ...WHETHER]
  // `in` separates values by commas, so it cannot be used if a choice contains one.
  if (field.enum)
    return [...(String(field.enum).split(',').length === field.enum.length ? LISTS : ['']), 'ne', ...WHETHER]
  if (isText(field)) return ['like', 'notLike', '', 'ne', ...LISTS, ...WHETHER]
  if (field.type !== 'string') return [...ORDERED, ...LISTS, ...WHETHER]
  const isDay = field.format === 'date' || field.format === 'date-time'
  return [...(isDay && !isFar ? ['', PERIOD, ...ORDERED.slice(1)] : ORDERED), ...WHETHER]
}

/** The field that a path leads to: of the model itself, or one step further, of the model `target`. */
export function fieldAt(path: string, model: Model, target: Model | undefined): Field | undefined {
  const [first = '', second, ...more] = path.split('.')
  if (second === undefined) return findField(model, first)
  return target && more.length === 0 ? findField(target, second) : undefined
}

/** A condition in words: `Age ≥ 18`. What is known of records that are referred to is shown instead of their ids. */
export function filterLabel(
  filter: Filter,
  model: Model,
  formatSettings: FormatSettings,
  { target, name }: { target?: Model | undefined; name?: string | undefined } = {},
): string {
  const { path, operator, value } = filter
  const [first = '', ...more] = path.split('.')
  const field = fieldAt(path, model, target)
  const own = findField(model, first)?.title ?? (first === ANY_TEXT ? say('Any text') : first)
  const far = more.length === 1 && field ? [field.title] : more
  const title = [own, ...far].join(' → ')
  if (WHETHER.includes(filterComparison(filter))) return `${title} ${comparisonWord(filterComparison(filter))}`
  const isPair = operator === 'between' || operator === 'notBetween'
  const texts = (
    isList(operator) || isPair ? value.split(',') : [isPattern(operator) ? unescapePattern(value) : value]
  ).map((text) =>
    field?.type === 'boolean'
      ? text === 'true'
        ? say('yes')
        : say('no')
      : operator === PERIOD
        ? periodTitle(text)
        : formatValue(field ?? {}, text, formatSettings),
  )
  return `${title} ${comparisonWord(operator, field)} ${name ?? texts.join(isPair ? say(' and ') : ', ')}`
}

/** Parses the sort order: `lastName,-age`. */
export function sortIn(query: URLSearchParams): { field: string; descending: boolean }[] {
  const names = (query.get('sort') ?? '').split(',').filter((name) => name !== '')
  return names.map((name) => ({ field: name.replace(/^-/, ''), descending: name.startsWith('-') }))
}

/** The path that sorts a column: for a reference, the field that names the referred record. */
export function columnSortPath(field: Field, target: Model | undefined): string {
  const isShown = (name: string) => target !== undefined && findField(target, name)?.type === 'string'
  const name = [target?.nameField ?? '', ...(target?.list ?? [])].find(isShown)
  return name === undefined ? field.name : `${field.name}.${name}`
}

/** Cycles a field's sorting: ascending, descending, none. With `more`, existing sort keys stay before it. */
export function sortedBy(query: URLSearchParams, field: string, more: boolean): URLSearchParams {
  const keys = sortIn(query)
  const now = keys.find((key) => key.field === field)
  const others = more ? keys.filter((key) => key.field !== field) : []
  const step = !now ? [{ field, descending: false }] : now.descending ? [] : [{ field, descending: true }]
  const sort = [...others, ...step].map((key) => (key.descending ? `-${key.field}` : key.field))
  const next = new URLSearchParams(query)
  if (sort.length > 0) next.set('sort', sort.join(','))
  else next.delete('sort')
  return next
}

/** Columns of the table: those named in the address, or those of the model's list. */
export function shownColumns(query: URLSearchParams, model: Model): Field[] {
  const shown = (names: string[]) =>
    names.flatMap((name) => {
      const field = findField(model, name)
      return field && !field.writeOnly ? [field] : []
    })
  const asked = shown(query.get('fields')?.split(',') ?? [])
  return asked.length > 0 ? asked : shown(model.list)
}

/** The columns in another order: one of them moved before another one, or behind the last. */
export function withColumnMoved(query: URLSearchParams, columns: Field[], from: number, before: number) {
  const names = columns.map(({ name }) => name)
  const [moved] = names.slice(from, from + 1)
  const next = new URLSearchParams(query)
  if (moved === undefined || before < 0) return next
  const others = names.toSpliced(from, 1)
  next.set('fields', others.toSpliced(before > from ? before - 1 : before, 0, moved).join())
  return next
}

/** The conditions and the order of an address as the service understands them. */
export function serviceQuery(query: URLSearchParams, model: Model, zone: string, now = new Date()): URLSearchParams {
  const boundsOf = ({ path, operator, value }: Filter) =>
    operator === PERIOD ? periodBounds(value, findField(model, path)?.format === 'date-time', zone, now) : undefined
  const inGroup = (filter: Filter): Filter => {
    const bounds = boundsOf(filter)
    return bounds ? { ...filter, parameter: `${filter.path}[between]`, value: bounds.join(',') } : filter
  }
  const asked = withoutTable(query)
  const groups = groupsIn(query, model)
  if (groups.length > 0) asked.delete(OR_PARAMETER)
  for (const group of groups) asked.append(OR_PARAMETER, groupText(group.map(inGroup)))
  for (const filter of filtersIn(query, model)) {
    const { parameter, path } = filter
    const bounds = boundsOf(filter)
    if (bounds === undefined) continue
    asked.delete(parameter)
    if (!asked.has(`${path}[between]`)) asked.set(`${path}[between]`, bounds.join(','))
    // The field has bounds of its own as well. If these are taken too, the service says so: none is left out.
    else for (const [nth, word] of ['gte', 'lte'].entries()) asked.append(`${path}[${word}]`, bounds[nth] as string)
  }
  return asked
}

/** Query to send: `expand` is for references to models the user may read. */
export function findQuery(query: URLSearchParams, columns: Field[], readable: string[]): URLSearchParams {
  const asked = new URLSearchParams(query)
  asked.set('fields', columns.map(({ name }) => name).join(',') || 'id')
  const references = columns.filter((column) => readable.includes(referredName(column) ?? ''))
  if (references.length > 0) asked.set('expand', references.map(({ name }) => name).join(','))
  return asked
}

export const hasFilters = (query: URLSearchParams) =>
  filtersIn(query).length > 0 || query.has(WORDS_PARAMETER) || query.has(OR_PARAMETER)

/** Whether a find lists all records by id; then the service can start at any offset without scanning. */
export const isById = (query: URLSearchParams) => !hasFilters(query) && !query.has('sort')
