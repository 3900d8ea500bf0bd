import { Failure } from '../errors.ts'
import { didYouMean } from '../lib/nearest.ts'
import type { Field, Model, Models } from '../model/model.ts'
import type { OperatorName } from './operators.ts'

/** What is to be returned of each record. */
export interface View {
  /** the fields to return; undefined: the model's list, or all of a single record */
  fields?: string[] | undefined
  /** dotted paths of references whose records are wanted */
  expand: string[]
}

/** What a find asks for, whichever way it was asked. */
export interface Query extends View {
  offset: number
  limit: number
  /** a cursor: the page after it */
  after?: string | undefined
  sort: SortKey[]
  filter?: Filter | undefined
}

export interface SortKey {
  field: Field
  descending: boolean
}

export type Filter = Comparison | { all: Filter[] } | { any: Filter[] } | { not: Filter }

export interface Comparison {
  /** the references to follow first */
  through: Field[]
  field: Field
  operator: OperatorName
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
/** Paths in `expand`: each is a statement of its own. */
export const MAX_EXPAND = 30
export const MAX_CRITERIA = 200
export const MAX_VALUES = 500
/** Of all criteria together: a statement has only so many parameters. */
export const MAX_ALL_VALUES = 10_000
/** What a comparison may cost is its length times the text's; more wildcards than this are no search for a text. */
const MAX_PATTERN = 200
const MAX_WILDCARDS = 20

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

/**
 * A pattern as LIKE takes it. Without a `%` it means "contains". A `\` takes a `%`, a `_` or another `\` literally; before
 * anything else it is one itself, as in C:\temp.
 */
export function likePattern(where: string, text: string): string {
  if (text.length > MAX_PATTERN) throw bad(`${where} has a pattern of more than ${MAX_PATTERN} characters.`)
  if (text.includes('\0')) throw bad(`${where} has a NUL character, which no text has.`)
  const exact = text.replace(/\\([%_\\])|\\/g, (whole, escaped) => (escaped === undefined ? '\\\\' : whole))
  const wildcards = exact.replace(/\\./gs, '').replace(/[^%_]+/g, '')
  if (wildcards.length > MAX_WILDCARDS) throw bad(`${where} has more than ${MAX_WILDCARDS} wildcards.`)
  return wildcards.includes('%') ? exact : `%${exact}%`
}
