import { to, withQuery } from './address.ts'

/** Where somebody was in the list of a model: whoever comes back from a record finds it as they left it. */

interface Spot {
  position: number
  active: number
}

const queries = new Map<string, string>()
const spots = new Map<string, Spot>()

export function rememberList(model: string, query: URLSearchParams): void {
  queries.set(model, String(query))
}

/** The address of the list, with the filters of the last time. */
export const listPath = (model: string) => withQuery(to('m', model), new URLSearchParams(queries.get(model) ?? ''))

const listKey = (model: string, query: URLSearchParams) => `${model}?${query}`

export function rememberSpot(model: string, query: URLSearchParams, spot: Spot): void {
  spots.set(listKey(model, query), spot)
}

export const spotIn = (model: string, query: URLSearchParams): Spot =>
  spots.get(listKey(model, query)) ?? { position: 0, active: 0 }
