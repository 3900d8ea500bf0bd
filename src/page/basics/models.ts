import { signal } from '@preact/signals'
import { ANYWHERE, literally } from '../logic/filters.ts'
import { displayName, findField, isText, type Model, type Row } from '../logic/model.ts'
import { ask, askOne } from './api.ts'
import { onModels } from './feed.ts'

/** What the service tells of its models; asked for once, and anew when they have changed. */

const known = new Map<string, Promise<Model>>()
let readable: Promise<string[]> | undefined

/** Grows when models have changed: whoever reads it is brought up to date. */
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
    model = askOne<Model>('GET', `/ws/meta/fields/${encodeURIComponent(name)}`)
    known.set(name, model)
    // What failed is asked for again.
    model.catch(() => known.delete(name))
  }
  return model
}

/** The names of the models whose records one may read. */
export function readableModels(): Promise<string[]> {
  modelsRound.value
  readable ??= ask<string>('GET', '/ws/meta/models').then(
    ({ data }) => data,
    (error) => {
      // What failed is asked for again.
      readable = undefined
      throw error
    },
  )
  return readable
}

/** The names of the models that one may read or create records of. */
export async function modelNames(): Promise<string[]> {
  const [readables, creatable] = await Promise.all([
    readableModels(),
    ask<string>('GET', '/ws/meta/models?allowed=create'),
  ])
  return [...new Set([...readables, ...creatable.data])].sort()
}

export const recordPath = (model: string, ...steps: (string | number)[]) =>
  ['/ws/rest', encodeURIComponent(model), ...steps].join('/')

export async function fetchTotal(model: string): Promise<number> {
  const { total = 0 } = await ask('GET', `${recordPath(model)}?limit=0`)
  return total
}

/** What a person calls the record that an id leads to. */
export async function recordName(model: string, id: string | number): Promise<string> {
  const [about, row] = await Promise.all([modelNamed(model), askOne<Row>('GET', recordPath(model, id))])
  return displayName(row, about)
}

/** Brings a record back: one that is deleted, or with `version` and `to` an earlier version. */
export const restore = (
  model: string,
  id: string | number,
  data: { version?: number; to?: number } = {},
): Promise<Row> => askOne<Row>('POST', recordPath(model, id, 'restore'), { body: { data } })

/** Records by what people know of them: a text of the list, or the id. */
export async function recordsLike(model: Model, text: string, limit: number, stop?: AbortSignal): Promise<Row[]> {
  const asking = stop ? { signal: stop } : {}
  const query = new URLSearchParams({ limit: String(limit), fields: shortList(model).join(',') })
  const hasText = model.list.some((name) => isText(findField(model, name)))
  if (text !== '' && hasText) query.set(ANYWHERE, literally(text))
  const [found, byId] = await Promise.all([
    text !== '' && !hasText
      ? []
      : ask<Row>('GET', `${recordPath(model.model)}?${query}`, asking).then(({ data }) => data),
    /^[1-9]\d{0,14}$/.test(text)
      ? ask<Row>('GET', `${recordPath(model.model)}?id=${text}`, asking).then(({ data }) => data)
      : [],
  ])
  return [...byId, ...found.filter(({ id }) => !byId.some((row) => row.id === id))].slice(0, limit)
}

/** What names a record, and a little more to tell it from others of the same name. */
const shortList = ({ nameField, list }: Model) => [...new Set([...(nameField ? [nameField] : []), ...list.slice(0, 3)])]
