import { Failure } from '../errors.ts'
import { isZone } from '../lib/calendar-period.ts'
import { didYouMean } from '../lib/nearest.ts'
import type { Field, Inverse, Model, Models } from '../model/model.ts'
import type { OperatorName } from './operators.ts'

/** The part of each record that is returned. */
export interface Selection {
  /** fields to return; undefined means the model's `list`, or all fields when reading a single record */
  fields?: string[] | undefined
  /** dotted paths of references whose records are returned instead of their ids */
  expand: string[]
}

export const WHOLE_RECORD: Selection = { expand: [] }

/** A parsed find or search. */
export interface Query extends Selection {
  offset: number
  limit: number
  /** cursor; the page starts after it */
  after?: string | undefined
  sort: SortKey[]
  filter?: Filter | undefined
  /** words that the records must contain */
  textSearch?: TextSearch | undefined
}

/** The search of a `q`. All texts are folded. */
export interface TextSearch {
  /** the words, one space between them */
  text: string
  words: string[]
}

export interface SortKey {
  /** the references to follow before `field` */
  through: Field[]
  field: Field
  descending: boolean
}

export type Filter = Comparison | RelatedFilter | { all: Filter[] } | { any: Filter[] } | { not: Filter }

/** A relation of a record to others: a field that refers to one or to several, or the inverse of one. */
export type Relation = Field | Inverse

/** Matches records of which a relation leads to at least one record that matches, or to such a number of them. */
export interface RelatedFilter {
  relation: Relation
  matching?: Filter | undefined
  /** a comparison of the number of matching records */
  count?: Comparison | undefined
  /** the relation leads to one of these, or to all of them */
  ids?: { values: number[]; isAll: boolean } | undefined
}

export interface Comparison {
  /** the references to follow before `field` */
  through: Field[]
  field: Field
  operator: OperatorName
  values: (string | number | boolean)[]
}

/** The queried model, and all models, to which its references lead. */
export interface QueryContext {
  model: Model
  models: Models
}

export const DEFAULT_LIMIT = 40
export const MAX_LIMIT = 500
/** References and inverse fields that a path may follow. */
export const MAX_PATH_RELATIONS = 3
/** Paths in `expand`; each needs its own statement. */
export const MAX_EXPAND = 30
/** Fields to sort by; each is a column of the statement. */
export const MAX_SORT_KEYS = 30
export const MAX_CRITERIA = 200
export const MAX_VALUES = 500
/** Values of all criteria together; the number of a statement's parameters is limited. */
export const MAX_ALL_VALUES = 10_000
/** Matching a row costs up to the pattern's length times the text's. Text searches need no more wildcards than this. */
const MAX_PATTERN = 200
const MAX_WILDCARDS = 20

export const badRequest = (message: string) => new Failure('BAD_REQUEST', message)

/** The name of a time zone. */
export function parseZone(name: unknown): string {
  if (typeof name === 'string' && isZone(name)) return name
  throw badRequest('"zone" must be the name of a time zone, such as Europe/Oslo.')
}

/** Refuses unknown query parameters, instead of ignoring them. */
export function allowOnly(known: string[], parameters: Record<string, unknown>): void {
  for (const name of Object.keys(parameters)) {
    if (!known.includes(name)) throw badRequest(`There is no query parameter "${name}" here.${didYouMean(name, known)}`)
  }
}

/** A parameter that is a whole number from 0 to `maximum`; undefined if it is not given. */
export function parseWholeNumber(
  parameters: Record<string, unknown>,
  name: string,
  maximum: number,
): number | undefined {
  const text = parameters[name]
  if (text === undefined) return undefined
  if (typeof text === 'string' && /^\d{1,16}$/.test(text) && Number(text) <= maximum) return Number(text)
  throw badRequest(`The query parameter "${name}" must be given once, as a whole number from 0 to ${maximum}.`)
}

/** A parameter that is `true` or `false`; false if it is not given. */
export function parseFlag(parameters: Record<string, unknown>, name: string): boolean {
  const value = parameters[name] ?? 'false'
  if (value !== 'true' && value !== 'false') throw badRequest(`The query parameter "${name}" must be true or false.`)
  return value === 'true'
}

/**
 * A pattern for LIKE. Without a `%` it means "contains". A `\` escapes a following `%`, `_` or `\`; before any other
 * character it is literal, as in C:\temp.
 */
export function likePattern(where: string, text: string): string {
  if (text.length > MAX_PATTERN) throw badRequest(`${where} has a pattern of more than ${MAX_PATTERN} characters.`)
  if (text.includes('\0')) throw badRequest(`${where} has a NUL character, which no text has.`)
  const exact = text.replace(/\\([%_\\])|\\/g, (whole, escaped) => (escaped === undefined ? '\\\\' : whole))
  const wildcards = exact.replace(/\\./gs, '').replace(/[^%_]+/g, '')
  if (wildcards.length > MAX_WILDCARDS) throw badRequest(`${where} has more than ${MAX_WILDCARDS} wildcards.`)
  return wildcards.includes('%') ? exact : `%${exact}%`
}
