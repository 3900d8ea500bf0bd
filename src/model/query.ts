import { Failure } from '../errors.ts'
import type { Field, Model, Models } from './model.ts'
import { didYouMean } from './nearest.ts'

/** What a find asks for, whichever way it was asked. */
export interface Query {
  offset: number
  limit: number
  /** a cursor: the page after it */
  after?: string | undefined
  /** the fields to return; undefined: the model's list */
  fields?: string[] | undefined
  sort: SortKey[]
  filter?: Filter | undefined
  /** dotted paths of references whose records are wanted */
  expand: string[]
}

export interface SortKey {
  field: Field
  descending: boolean
}

export type Filter = Comparison | { all: Filter[] } | { any: Filter[] } | { not: Filter }

/** Each of these is false where nothing is stored; their opposites are `not` around them, and true there. */
export type Operator = 'eq' | 'gt' | 'gte' | 'lt' | 'lte' | 'like' | 'in' | 'between' | 'isSet'

export interface Comparison {
  /** the references to follow first */
  through: Field[]
  field: Field
  operator: Operator
  values: (string | number | boolean)[]
}

/** The model that is asked about, among those that its references lead to. */
export interface Context {
  model: Model
  models: Models
}

export const DEFAULT_LIMIT = 40
export const MAX_LIMIT = 500
export const MAX_STEPS = 3
export const MAX_CRITERIA = 200
export const MAX_VALUES = 500
const MAX_PATTERN = 1000

export const bad = (message: string) => new Failure('BAD_REQUEST', message)

/** Refuses parameters that an operation does not know, rather than pass them over. */
export function allowOnly(known: string[], parameters: Record<string, unknown>): void {
  for (const name of Object.keys(parameters)) {
    if (!known.includes(name)) throw bad(`There is no query parameter "${name}" here.${didYouMean(name, known)}`)
  }
}

/** A parameter that is a whole number from 0; undefined where it is not given. */
export function wholeNumber(parameters: Record<string, unknown>, name: string, maximum: number): number | undefined {
  const text = parameters[name]
  if (text === undefined) return undefined
  if (typeof text === 'string' && /^\d{1,16}$/.test(text) && Number(text) <= maximum) return Number(text)
  throw bad(`The query parameter "${name}" must be given once, as a whole number from 0 to ${maximum}.`)
}

/** A pattern as SQLite takes it. Without a `%` it means "contains". */
export function likePattern(where: string, text: string): string {
  if (text.length > MAX_PATTERN) throw bad(`${where} has a pattern of more than ${MAX_PATTERN} characters.`)
  return text.includes('%') ? text : `%${text}%`
}
