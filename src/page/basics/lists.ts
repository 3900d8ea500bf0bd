import { to, withQuery } from './address.ts'

/** Position in the list of each model, so that a user who comes back from a record finds the list as it was. */

interface ListPosition {
  position: number
  active: number
}

const queries = new Map<string, string>()
const positions = new Map<string, ListPosition>()

export function rememberList(model: string, query: URLSearchParams): void {
  queries.set(model, String(query))
}

/** Address of the list, with the filters used last. */
export const listPath = (model: string) => withQuery(to('m', model), new URLSearchParams(queries.get(model) ?? ''))

const listKey = (model: string, query: URLSearchParams) => `${model}?${query}`

export function rememberListPosition(model: string, query: URLSearchParams, position: ListPosition): void {
  positions.set(listKey(model, query), position)
}

export const listPositionIn = (model: string, query: URLSearchParams): ListPosition =>
  positions.get(listKey(model, query)) ?? { position: 0, active: 0 }
