import { Failure } from '../errors.ts'
import { didYouMean } from './nearest.ts'

/** What a find asks for. */
export interface Query {
  offset: number
  limit: number
}

const DEFAULT_LIMIT = 40
const MAX_LIMIT = 500
const PARAMETERS = ['offset', 'limit']

/** Find's parameters → a Query. Every fault names its parameter; nothing is silently dropped. */
export function parseQuery(parameters: Record<string, unknown>): Query {
  allowOnly(PARAMETERS, parameters)
  return {
    offset: wholeNumber(parameters, 'offset', Number.MAX_SAFE_INTEGER) ?? 0,
    limit: wholeNumber(parameters, 'limit', MAX_LIMIT) ?? DEFAULT_LIMIT,
  }
}

/** Refuses parameters that an operation does not know, rather than pass them over. */
export function allowOnly(known: string[], parameters: Record<string, unknown>): void {
  for (const name of Object.keys(parameters)) {
    if (!known.includes(name))
      throw new Failure('BAD_REQUEST', `There is no query parameter "${name}" here.${didYouMean(name, known)}`)
  }
}

/** A parameter that is a whole number from 0; undefined where it is not given. */
export function wholeNumber(parameters: Record<string, unknown>, name: string, maximum: number): number | undefined {
  const text = parameters[name]
  if (text === undefined) return undefined
  if (typeof text === 'string' && /^\d{1,16}$/.test(text) && Number(text) <= maximum) return Number(text)
  throw new Failure(
    'BAD_REQUEST',
    `The query parameter "${name}" must be given once, as a whole number from 0 to ${maximum}.`,
  )
}
