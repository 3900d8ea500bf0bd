import { signal } from '@preact/signals'
import { say } from '../language/say.ts'
import { searchWords } from '../logic/highlight.ts'
import { inGroups } from '../logic/in-groups.ts'
import {
  canSearch,
  displayName,
  type Field,
  type Model,
  type Overview,
  type Row,
  referredName,
  translated,
  withTitles,
} from '../logic/model.ts'
import { request, requestOne } from './api.ts'
import { onModels } from './feed.ts'

/** Descriptions of the models, cached; fetched again when models have changed. */

const known = new Map<string, Promise<Model>>()
let overview: Promise<Overview[]> | undefined

/** Increases when models have changed; reading this signal makes a component or loader run again. */
export const modelsRevision = signal(0)

onModels(() => {
  known.clear()
  overview = undefined
  modelsRevision.value++
})

export function modelNamed(name: string): Promise<Model> {
  modelsRevision.value
  let model = known.get(name)
  if (!model) {
    model = requestOne<Model>('GET', `/ws/meta/fields/${encodeURIComponent(name)}`).then(withTitles)
    known.set(name, model)
    // A failed request is not cached.
    model.catch(() => known.delete(name))
  }
  return model
}

/** The model that a field refers to; undefined if it refers to none, or its model cannot be described to this user. */
export async function referredModel(field: Field | undefined): Promise<Model | undefined> {
  const name = field && referredName(field)
  return name === undefined ? undefined : modelNamed(name).catch(() => undefined)
}

/** Loads the models that the user may use, with their totals at that time. */
export function modelsOverview(): Promise<Overview[]> {
  modelsRevision.value
  overview ??= request<Overview>('GET', '/ws/meta/overview').then(
    ({ data }) => data.map((one) => translated(one)),
    (error) => {
      // A failed request is not cached.
      overview = undefined
      throw error
    },
  )
  return overview
}

/** Makes the next `modelsOverview` count again. */
export function clearTotals(): void {
  overview = undefined
}

/** Names of the models whose records the user may read. */
export const readableModels = async (): Promise<string[]> =>
  (await modelsOverview()).filter(({ allowed }) => allowed.read).map(({ model }) => model)

/** Names of the models whose records the user may read or create. */
export const modelNames = async (): Promise<string[]> =>
  (await modelsOverview()).filter(({ allowed }) => allowed.read || allowed.create).map(({ model }) => model)

export const recordPath = (model: string, ...steps: (string | number)[]) =>
  ['/ws/rest', encodeURIComponent(model), ...steps].join('/')

/** Display name of a record, by its id. */
export async function recordName(model: string, id: string | number): Promise<string> {
  const [about, row] = await Promise.all([modelNamed(model), requestOne<Row>('GET', recordPath(model, id))])
  return displayName(row, about)
}

/** Records that are asked for at once. */
const GROUP_SIZE = 500

/** Display names of records, by their ids; those that the user may not read are left out. */
export async function recordNames(model: string, ids: (string | number)[]): Promise<Map<string, string>> {
  const names = new Map<string, string>()
  if (ids.length === 0) return names
  const about = await modelNamed(model)
  for (const some of inGroups(ids, GROUP_SIZE)) {
    const query = new URLSearchParams({
      'id[in]': some.join(),
      limit: String(GROUP_SIZE),
      fields: nameFields(about).join(),
    })
    const { data } = await request<Row>('GET', `${recordPath(model)}?${query}`)
    for (const row of data) names.set(String(row.id), displayName(row, about))
  }
  return names
}

/** Restores a deleted record or, with `version` and `to`, an earlier version. */
export const restore = (
  model: string,
  id: string | number,
  data: { version?: number; to?: number } = {},
): Promise<Row> => requestOne<Row>('POST', recordPath(model, id, 'restore'), { body: { data } })

/** The matches of a text search in one model. */
export interface Matches {
  model: string
  total: number
  data: Row[]
}

/** Searches all models that the user may read. The note says what could not be searched. */
export async function searchModels(
  text: string,
  limit: number,
  signal: AbortSignal,
): Promise<{ matches: Matches[]; note?: string }> {
  if (searchWords(text).length === 0) return { matches: [] }
  const query = new URLSearchParams({ q: text, limit: String(limit) })
  const { data, unfinished = [] } = await request<Matches>('GET', `/ws/search?${query}`, { signal })
  if (unfinished.length === 0) return { matches: data }
  return { matches: data, note: say('There was no time to search {models}.', { models: unfinished.join(', ') }) }
}

/** Finds records by words, or by id; without a text, those that were created last. */
export async function findRecords(model: Model, text: string, limit: number, signal: AbortSignal): Promise<Row[]> {
  const find = async (query: Record<string, string>): Promise<Row[]> => {
    const parameters = new URLSearchParams({ ...query, limit: String(limit), fields: nameFields(model).join(',') })
    return (await request<Row>('GET', `${recordPath(model.model)}?${parameters}`, { signal })).data
  }
  if (text === '') return find({ sort: '-id' })
  const [found, byId] = await Promise.all([
    canSearch(model) && searchWords(text).length > 0 ? find({ q: text }) : [],
    /^[1-9]\d{0,14}$/.test(text) ? find({ id: text }) : [],
  ])
  return [...byId, ...found.filter(({ id }) => !byId.some((row) => row.id === id))].slice(0, limit)
}

/** The field that names a record, and those that tell apart records of the same name. */
const nameFields = ({ nameField, list }: Model) => [...new Set([...(nameField ? [nameField] : []), ...list])]
