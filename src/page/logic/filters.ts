import type { Field, Model } from './model.ts'
import { fieldOf } from './model.ts'
import { textOf } from './values.ts'

/** One condition of a find, as it stands in an address: `age[gte]=18`. */
export interface Filter {
  /** the parameter's own name */
  parameter: string
  path: string
  /** nothing for equals */
  operator: string
  value: string
}

/** Parameters of a find that are no conditions. */
const OTHERS = ['sort', 'fields', 'offset', 'limit', 'after', 'expand']
/** Looks into all texts of the list. */
export const ANYWHERE = '*[like]'

export function filtersIn(query: URLSearchParams): Filter[] {
  return [...query].flatMap(([parameter, value]) => {
    if (OTHERS.includes(parameter) || parameter === ANYWHERE) return []
    const [, path = parameter, operator = ''] = /^([^[]*)(?:\[(.*)\])?$/.exec(parameter) ?? []
    return [{ parameter, path, operator, value }]
  })
}

export const parameterOf = (path: string, operator: string) => (operator === '' ? path : `${path}[${operator}]`)

/** A condition takes the place of one on the same field with the same operator. */
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
  next.delete(ANYWHERE)
  return next
}

const WORDS: Record<string, string> = {
  '': 'is',
  ne: 'is not',
  gt: '>',
  gte: '≥',
  lt: '<',
  lte: '≤',
  like: 'contains',
  in: 'is one of',
  between: 'between',
  null: 'is set',
}

export const wordOf = (operator: string) => WORDS[operator] ?? operator

const ORDERED = ['', 'gte', 'lte', 'gt', 'lt', 'between', 'ne', 'null']

/** The comparisons that make sense for a field, the most useful first. */
export function operatorsOf(field: Field): string[] {
  if (field.type === 'array' || field.type === 'object') return ['null']
  if (field.type === 'boolean') return ['', 'null']
  if (field.reference !== undefined) return ['', 'null', 'ne']
  if (field.enum) return ['in', 'ne', 'null']
  if (field.type !== 'string') return ORDERED
  return ['date', 'date-time', 'time', 'decimal'].includes(field.format ?? '') ? ORDERED : ['like', '', 'ne', 'null']
}

/** A condition in words: `Age ≥ 18`. A name is put in the place of a reference's id where it is known. */
export function labelOf({ path, operator, value }: Filter, model: Model, zone: string, name?: string): string {
  const [first = '', ...more] = path.split('.')
  const field = fieldOf(model, first)
  const title = [field?.title ?? first, ...more].join(' › ')
  if (operator === 'null') return `${title} ${value === 'true' ? 'is not set' : 'is set'}`
  const isList = operator === 'in' || operator === 'between'
  const texts = (isList ? value.split(',') : [value]).map((text) =>
    field?.type === 'boolean' ? (text === 'true' ? 'yes' : 'no') : textOf(field ?? {}, text, zone),
  )
  return `${title} ${wordOf(operator)} ${name ?? texts.join(operator === 'between' ? ' and ' : ', ')}`
}

/** `lastName,-age` → which field, and whether it goes down. */
export function sortIn(query: URLSearchParams): { field: string; descending: boolean }[] {
  const names = (query.get('sort') ?? '').split(',').filter((name) => name !== '')
  return names.map((name) => ({ field: name.replace(/^-/, ''), descending: name.startsWith('-') }))
}

/** Up, then down, then not at all. With `more` what it is sorted by already stays before it. */
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

/** The columns of a table: those that the address names, else those of the model's list. */
export function columnsOf(query: URLSearchParams, model: Model): Field[] {
  const names = query.get('fields')?.split(',') ?? model.list
  return names.flatMap((name) => {
    const field = fieldOf(model, name)
    return field && !field.writeOnly ? [field] : []
  })
}

/** What is asked of the service: what stands in the address, with the records behind references that are shown. */
export function findOf(query: URLSearchParams, columns: Field[]): URLSearchParams {
  const asked = new URLSearchParams(query)
  asked.set('fields', columns.map(({ name }) => name).join(',') || 'id')
  const references = columns.filter(({ reference }) => reference !== undefined)
  if (references.length > 0) asked.set('expand', references.map(({ name }) => name).join(','))
  return asked
}

/** Whether a find goes by id through all records: then any place in it is found at once. */
export const isPlain = (query: URLSearchParams) =>
  filtersIn(query).length === 0 && !query.has('sort') && !query.has(ANYWHERE)
