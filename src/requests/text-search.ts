import { searchWords } from '../lib/search-words.ts'
import type { Model } from '../model/model.ts'
import { badRequest, type TextSearch } from './query.ts'

const MAX_LENGTH = 200
const MAX_WORDS = 10
/** Stands between the fields of a record when they are searched: no word may contain it. */
export const FIELD_SEPARATOR = '\x1f'

/** The words to search a model for; undefined if none are given. */
export function parseTextSearch(where: string, given: unknown, model: Model): TextSearch | undefined {
  if (given === undefined) return undefined
  requireSearchable(where, model)
  return parseWords(where, given)
}

export function requireSearchable(where: string, model: Model): void {
  if (model.search.length === 0)
    throw badRequest(`${where}: ${model.name} has no text to search. "search" in its model file names the fields.`)
}

/** Parses a text that somebody types: words in any order; `"in quotes"` is one word. */
export function parseWords(where: string, given: unknown): TextSearch {
  if (typeof given !== 'string' || given === '' || [...given].length > MAX_LENGTH)
    throw badRequest(`${where} must be a text of 1 to ${MAX_LENGTH} characters, given once.`)
  if (!given.isWellFormed()) throw badRequest(`${where} is not well-formed Unicode.`)
  if (given.includes('\0')) throw badRequest(`${where} has a NUL character, which no text has.`)
  const words = searchWords(given.replaceAll(FIELD_SEPARATOR, ' '))
  if (words.length === 0) throw badRequest(`${where} has no word to search for.`)
  if (words.length > MAX_WORDS) throw badRequest(`${where} has more than ${MAX_WORDS} words.`)
  return { text: words.join(' '), words }
}
