import { signal } from '@preact/signals'
import { escapeLike, SEARCH_ALL } from '../logic/filters.ts'
import { displayName, findField, isText, type Model, type Row } from '../logic/model.ts'
import { request, requestOne } from './api.ts'
import { onModels } from './feed.ts'

/** Descriptions of the models, cached; fetched again when models have changed. */

const known = new Map<string, Promise<Model>>()
let readable: Promise<string[]> | undefined

/** Increases when models have changed; reading this signal makes a component or loader run again. */
export const modelsRound = signal(0)

onModels(() => {
  known.clear()
  readable = undefined
  modelsRound.value++
})

export function modelNamed(name: string): Promise<Model> {
  modelsRound.value
  let model = known.get(name)
  if (!model) {
    model = requestOne<Model>('GET', `/ws/meta/fields/${encodeURIComponent(name)}`)
    known.set(name, model)
    // A failed request is not cached.
    model.catch(() => known.delete(name))
  }
  return model
}

/** Names of the models whose records the user may read. */
export function readableModels(): Promise<string[]> {
  modelsRound.value
  readable ??= request<string>('GET', '/ws/meta/models').then(
    ({ data }) => data,
    (error) => {
      // A failed request is not cached.
      readable = undefined
      throw error
    },
  )
  return readable
}

/** Names of the models whose records the user may read or create. */
export async function modelNames(): Promise<string[]> {
  const [readables, creatable] = await Promise.all([
    readableModels(),
    request<string>('GET', '/ws/meta/models?allowed=create'),
  ])
  return [...new Set([...readables, ...creatable.data])].sort()
}

export const recordPath = (model: string, ...steps: (string | number)[]) =>
  ['/ws/rest', encodeURIComponent(model), ...steps].join('/')

export async function fetchTotal(model: string): Promise<number> {
  const { total = 0 } = await request('GET', `${recordPath(model)}?limit=0`)
  return total
}

/** Display name of a record, by its id. */
export async function recordName(model: string, id: string | number): Promise<string> {
  const [about, row] = await Promise.all([modelNamed(model), requestOne<Row>('GET', recordPath(model, id))])
  return displayName(row, about)
}

/** Restores a deleted record or, with `version` and `to`, an earlier version. */
export const restore = (
  model: string,
  id: string | number,
  data: { version?: number; to?: number } = {},
): Promise<Row> => requestOne<Row>('POST', recordPath(model, id, 'restore'), { body: { data } })

/** Finds records by a text in one of their list fields, or by id. */
export async function recordsLike(model: Model, text: string, limit: number, stop?: AbortSignal): Promise<Row[]> {
  const asking = stop ? { signal: stop } : {}
  const query = new URLSearchParams({ limit: String(limit), fields: shortList(model).join(',') })
  const hasText = model.list.some((name) => isText(findField(model, name)))
  if (text !== '' && hasText) query.set(SEARCH_ALL, escapeLike(text))
  const [found, byId] = await Promise.all([
    text !== '' && !hasText
      ? []
      : request<Row>('GET', `${recordPath(model.model)}?${query}`, asking).then(({ data }) => data),
    /^[1-9]\d{0,14}$/.test(text)
      ? request<Row>('GET', `${recordPath(model.model)}?id=${text}`, asking).then(({ data }) => data)
      : [],
  ])
  return [...byId, ...found.filter(({ id }) => !byId.some((row) => row.id === id))].slice(0, limit)
}

/** Fields that name a record, and a few more to tell apart records of the same name. */
const shortList = ({ nameField, list }: Model) => [...new Set([...(nameField ? [nameField] : []), ...list.slice(0, 3)])]
