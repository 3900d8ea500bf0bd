import type { Answer, Client } from '../client.ts'
import type { Event } from '../listen.ts'
import {
  type Data,
  fieldsOf,
  MODELS,
  type ModelName,
  type Person,
  type Random,
  randomData,
  type State,
} from './model.ts'
import { asRead, type Oracle } from './oracle.ts'

/** Sends random requests of random people, and compares every answer with what a naive evaluation says. */

export interface World {
  oracle: Oracle
  random: Random
  admin: Client
  people: { person: Person; client: Client }[]
  /** position in the feed where the people's rights begin */
  start: number
}

export interface Turn extends World {
  person: Person
  client: Client
  model: ModelName
  path: string
}

export type Request = (turn: Turn) => Promise<string | undefined>

const show = (value: unknown) => JSON.stringify(value)
/** A fault, if two things differ. */
export const differ = (what: string, given: unknown, wanted: unknown) =>
  show(given) === show(wanted) ? undefined : `${what}: ${show(given)} instead of ${show(wanted)}`
export const expectStatus = (what: string, { status, text }: Answer, wanted: number | number[]) =>
  [wanted].flat().includes(status) ? undefined : `${what}: ${status} instead of ${wanted}: ${text.slice(0, 300)}`

/** An id that was given, or the next one. */
const someId = ({ oracle, random, model }: Turn) =>
  1 + random.below(oracle.now[model].size + oracle.gone[model].size + 1)

export const forbiddenUnless = (turn: Turn, operation: 'read' | 'create' | 'update' | 'delete') =>
  turn.oracle.mayAtAll(turn.model, operation, turn.person) ? undefined : 403

async function find(turn: Turn): Promise<string | undefined> {
  const { oracle, random, client, person, model, path } = turn
  const fields = oracle.readable(model, person)
  const filter = random.oneOf([
    '',
    'color=red',
    'color[ne]=blue',
    'color[null]=true',
    ...(fields.includes('level') ? ['level[gte]=1', 'level[null]=false'] : []),
  ])
  const sort = random.oneOf(['', '&sort=-id', ...(fields.includes('level') ? ['&sort=level'] : [])])
  const answer = await client.get(`${path}?limit=500&fields=${fields}&${filter}${sort}`)
  const status = forbiddenUnless(turn, 'read') ?? 200
  if (status !== 200) return expectStatus('find', answer, status)
  const matches = ({ data }: State) => {
    if (filter === 'color=red') return data.color === 'red'
    if (filter === 'color[ne]=blue') return data.color !== 'blue'
    if (filter === 'color[null]=true') return (data.color ?? null) === null
    if (filter === 'level[gte]=1') return Number(data.level ?? 0) >= 1
    return filter !== 'level[null]=false' || (data.level ?? null) !== null
  }
  const wanted = oracle
    .visible(model, person)
    .filter(matches)
    .sort((a, b) => a.id - b.id)
  if (sort === '&sort=-id') wanted.reverse()
  if (sort === '&sort=level') wanted.sort((a, b) => Number(a.data.level ?? -1) - Number(b.data.level ?? -1))
  return (
    expectStatus('find', answer, 200) ??
    differ('total', answer.body.total, wanted.length) ??
    differ(
      `find ${filter}${sort}`,
      answer.body.data.map((row: Data) => sorted(row)),
      wanted.map((state) => sorted(asRead(fields, state))),
    )
  )
}

const sorted = (row: object) => Object.fromEntries(Object.entries(row).sort(([a], [b]) => (a < b ? -1 : 1)))

async function read(turn: Turn): Promise<string | undefined> {
  const { oracle, client, person, model, path } = turn
  const id = someId(turn)
  const answer = await client.get(`${path}/${id}`)
  const state = oracle.sees(model, person, id)
  const status = forbiddenUnless(turn, 'read') ?? (state ? 200 : 404)
  const fault = expectStatus(`read ${id}`, answer, status)
  if (fault || !state || status !== 200) return fault
  const { createdOn, createdBy, updatedOn, updatedBy, ...own } = answer.body.data[0]
  return differ(`read ${id}`, sorted(own), sorted(asRead(oracle.readable(model, person), state)))
}

/** By the name of a field that does not exist for the person, nothing can be asked. */
async function askUnknown(turn: Turn): Promise<string | undefined> {
  const { oracle, random, client, person, model, path } = turn
  const hidden = fieldsOf(model).filter((name) => !oracle.mayRead(model, person, name))
  const name = random.oneOf([...hidden, 'nothing'])
  const queries = [
    `?${name}=1`,
    `?${name}[gt]=1`,
    `?sort=${name}`,
    `?fields=${name}`,
    `/aggregate?group=${name}`,
    `/aggregate?values=sum(${name})`,
    `/export?${name}[null]=true`,
  ]
  const answer = await client.get(path + random.oneOf(queries))
  return expectStatus(`a field that is not there (${name})`, answer, forbiddenUnless(turn, 'read') ?? 400)
}

async function count(turn: Turn): Promise<string | undefined> {
  const { oracle, client, person, model, path } = turn
  const answer = await client.get(`${path}/aggregate?group=color`)
  const status = forbiddenUnless(turn, 'read') ?? 200
  if (status !== 200) return expectStatus('aggregate', answer, status)
  const groups = Map.groupBy(oracle.visible(model, person), ({ data }) => data.color ?? null)
  const wanted = [...groups].map(([color, some]) => `${color} ${some.length}`).sort()
  const given = answer.body.data.map((row: { color: string; count: number }) => `${row.color} ${row.count}`).sort()
  return differ('aggregate', given, wanted)
}

async function searchWords({ oracle, random, client, person, admin }: Turn): Promise<string | undefined> {
  const word = `n${random.below(1000)}`
  const { body } = await client.get(`/ws/search?q=${word}&limit=50`)
  const known = new Set((await admin.get('/ws/meta/models')).body.data)
  const wanted = MODELS.filter((name) => known.has(name) && oracle.mayAtAll(name, 'read', person)).flatMap((name) =>
    oracle
      .visible(name, person)
      .filter(({ data }) => String(data.name).includes(word))
      .map(({ id }) => `${name} ${id}`),
  )
  const given = body.data.flatMap(({ model, data }: { model: string; data: State[] }) =>
    data.map(({ id }) => `${model} ${id}`),
  )
  return differ(`search ${word}`, given.sort(), wanted.sort())
}

async function expandGroup(turn: Turn): Promise<string | undefined> {
  const { oracle, client, person } = turn
  const answer = await client.get('/ws/rest/g.Item?limit=500&expand=group&fields=name')
  if (!oracle.mayAtAll('g.Item', 'read', person)) return expectStatus('expand', answer, 403)
  const wanted = oracle.visible('g.Item', person).map(({ id, data }) => {
    const isSeen = oracle.sees('g.Group', person, data.group as number) !== undefined
    return `${id} ${data.group ?? null} ${isSeen}`
  })
  const given = answer.body.data.map(({ id, group }: { id: number; group: { id: number } | number | null }) => {
    const isRecord = typeof group === 'object' && group !== null
    return `${id} ${isRecord ? group.id : group} ${isRecord}`
  })
  return differ('expand=group', given.sort(), wanted.sort())
}

async function expandItems({ oracle, client, person }: Turn): Promise<string | undefined> {
  const answer = await client.get('/ws/rest/g.Group?limit=500&expand=items')
  if (!oracle.mayAtAll('g.Group', 'read', person)) return expectStatus('expand', answer, 403)
  const items = oracle.mayAtAll('g.Item', 'read', person) ? oracle.visible('g.Item', person) : []
  const wanted = oracle
    .visible('g.Group', person)
    .map(({ id }) => `${id} ${items.filter(({ data }) => data.group === id).length}`)
  const given = answer.body.data.map((row: { id: number; items: { total: number } }) => `${row.id} ${row.items.total}`)
  return differ('expand=items', given.sort(), wanted.sort())
}

/** Whether the person reaches the record, or could reach it as it was last. */
export function knows({ oracle, model, person }: Turn, id: number): boolean {
  const last = oracle.gone[model].get(id)
  return (
    oracle.sees(model, person, id) !== undefined ||
    (!oracle.now[model].has(id) && last !== undefined && oracle.reaches(model, 'read', person, last))
  )
}

async function history(turn: Turn): Promise<string | undefined> {
  const { oracle, random, client, person, model, path } = turn
  const id = someId(turn)
  const isVersion = random.isSo(0.5)
  const answer = await client.get(`${path}/${id}${isVersion ? '?version=0' : '/history'}`)
  const status = forbiddenUnless(turn, 'read') ?? (knows(turn, id) ? 200 : 404)
  const fault = expectStatus(`history ${id}`, answer, status)
  if (fault || status !== 200) return fault
  const named = isVersion
    ? Object.keys(answer.body.data[0])
    : answer.body.data.flatMap(({ changes }: { changes: object }) => Object.keys(changes))
  const hidden = fieldsOf(model).filter(
    (name) => !oracle.mayRead(model, person, name) && (isVersion || !oracle.mayWrite(model, person, name)),
  )
  return differ(
    `fields of the history of ${id}`,
    named.filter((name: string) => hidden.includes(name)),
    [],
  )
}

async function deleted(turn: Turn): Promise<string | undefined> {
  const { oracle, client, model, path } = turn
  const answer = await client.get(`${path}/deleted?limit=500`)
  const status = forbiddenUnless(turn, 'read') ?? 200
  if (status !== 200) return expectStatus('deleted', answer, status)
  const wanted = [...oracle.gone[model].keys()].filter((id) => !oracle.now[model].has(id) && knows(turn, id))
  const given = answer.body.data.map(({ id }: State) => id)
  return differ('deleted', given.sort(), wanted.sort()) ?? differ('total of deleted', answer.body.total, wanted.length)
}

async function exportAll(turn: Turn): Promise<string | undefined> {
  const { oracle, client, person, model, path } = turn
  const url = `${client.url}${path}/export?format=ndjson`
  const answer = await fetch(url, { headers: { cookie: client.cookie as string } })
  const text = await answer.text()
  if (!oracle.mayAtAll(model, 'read', person)) return differ('export', answer.status, 403)
  const rows = text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
  const fields = oracle.readable(model, person)
  const given = rows.map(({ createdOn, createdBy, updatedOn, updatedBy, ...own }) => sorted(own))
  return differ(
    'export',
    given,
    oracle
      .visible(model, person)
      .sort((a, b) => a.id - b.id)
      .map((state) => sorted(asRead(fields, state))),
  )
}

async function feed(turn: Turn): Promise<string | undefined> {
  const { oracle, client, person, start } = turn
  const given = new Map<string, string[]>()
  for (let since = start, isMore = true; isMore; ) {
    const { body } = await client.get(`/ws/changes?since=${since}&limit=1000`)
    for (const { model, id, operation, fields } of body.data) {
      const key = `${model} ${id}`
      given.set(key, [
        ...(given.get(key) ?? []),
        operation === 'leave' || operation === 'delete' ? operation : 'change',
      ])
      const isHidden = (name: string) => !oracle.mayRead(model, person, name) && !oracle.mayWrite(model, person, name)
      if (fields.some(isHidden)) return `the feed names ${fields}`
    }
    isMore = body.next > since
    since = body.next
  }
  return differ('feed', list(given), list(toldTo(oracle, person)))
}

const list = (some: Map<string, string[]>) => [...some].map(([key, all]) => `${key}: ${all}`).sort()

/** What the feed tells a person of each record. */
function toldTo(oracle: Oracle, person: Person): Map<string, string[]> {
  const wanted = new Map<string, string[]>()
  for (const { model, id, before, after } of oracle.changes) {
    const isSeen = (state: State | undefined) =>
      state !== undefined && oracle.mayAtAll(model, 'read', person) && oracle.reaches(model, 'read', person, state)
    const what = isSeen(after) ? 'change' : isSeen(before) ? (after ? 'leave' : 'delete') : undefined
    const key = `${model} ${id}`
    if (what) wanted.set(key, [...(wanted.get(key) ?? []), what])
  }
  return wanted
}

/** Compares what a stream has sent with what its reader may see. Waits until the last change has come. */
export async function compareStream(
  { oracle, admin }: World,
  person: Person,
  { events }: { events: Event[] },
): Promise<string | undefined> {
  const wanted = list(toldTo(oracle, person))
  const collect = () => {
    const given = new Map<string, string[]>()
    for (const { event, data } of events) {
      const key = `${data.model} ${data.id}`
      given.set(key, [...(given.get(key) ?? []), event === 'leave' || event === 'delete' ? event : 'change'])
    }
    return list(given)
  }
  const count = wanted.join().split(',').length
  // Each admin's request gives the stream a moment.
  for (let wait = 0; wait < 200 && events.length < count; wait++) await admin.get('/ws/me')
  return differ(`stream of ${person.username}`, collect(), wanted)
}

/** Groups that a person may refer to. */
export const groupsFor = ({ oracle, person }: Turn) =>
  oracle.mayAtAll('g.Group', 'read', person) ? oracle.visible('g.Group', person).map(({ id }) => id) : []

/** What happens to data that a person sends: fields that are unknown are refused, those that are read only ignored. */
function accepted({ oracle, model, person }: Turn, data: Data): { isRefused: boolean; written: Data } {
  const names = Object.keys(data)
  const isRefused = names.some((name) => !oracle.mayWrite(model, person, name) && !oracle.mayRead(model, person, name))
  const written = Object.fromEntries(
    names.filter((name) => oracle.mayWrite(model, person, name)).map((name) => [name, data[name] ?? null]),
  )
  return { isRefused, written }
}

async function create(turn: Turn): Promise<string | undefined> {
  const { oracle, random, client, person, model, path } = turn
  const data = randomData(model, random, groupsFor(turn))
  const { isRefused, written } = accepted(turn, data)
  const answer = await client.put(path, data)
  const outcome: State = { id: 0, version: 0, createdBy: person.username, data: written }
  const isWithin = oracle.reachOutcome(model, 'create', person, [outcome])
  const status = forbiddenUnless(turn, 'create') ?? (isRefused ? 422 : isWithin ? 200 : 403)
  const fault = expectStatus(`create ${show(data)}`, answer, status)
  if (answer.status === 200) oracle.write(model, { ...outcome, id: answer.body.data[0].id })
  if (fault || status !== 200) return fault
  return sawWritten(turn, answer, { ...outcome, id: answer.body.data[0].id })
}

/** Who may not read what they have written gets a stub. */
function sawWritten({ oracle, model, person }: Turn, answer: Answer, state: State): string | undefined {
  const { createdOn, createdBy, updatedOn, updatedBy, ...own } = answer.body.data[0]
  const isRead = oracle.mayAtAll(model, 'read', person) && oracle.reaches(model, 'read', person, state)
  return differ('written', sorted(own), sorted(asRead(isRead ? oracle.readable(model, person) : [], state)))
}

async function update(turn: Turn): Promise<string | undefined> {
  const { oracle, random, client, person, model, path } = turn
  const id = someId(turn)
  const now = oracle.now[model].get(id)
  const data = randomData(model, random, groupsFor(turn))
  const { isRefused, written } = accepted(turn, data)
  const version = random.isSo(0.9) ? (now?.version ?? 0) : (now?.version ?? 0) + 5
  const merge = random.isSo(0.3)
  const answer = await client.send('POST', `${path}/${id}`, { data: { ...data, version }, ...(merge && { merge }) })
  const outcome = now && { ...now, version: now.version + 1, data: { ...now.data, ...written } }
  const isReached = now !== undefined && oracle.reaches(model, 'update', person, now)
  const isWithin = outcome !== undefined && oracle.reachOutcome(model, 'update', person, [outcome])
  const found = !isReached ? 404 : version !== now.version ? 409 : isWithin ? 200 : 403
  const status = forbiddenUnless(turn, 'update') ?? (isRefused ? 422 : found)
  const fault = expectStatus(`update ${id} ${show(data)}`, answer, status)
  if (answer.status === 200) oracle.write(model, outcome as State)
  if (fault || answer.status !== 200) return fault
  return sawWritten(turn, answer, outcome as State)
}

async function remove(turn: Turn): Promise<string | undefined> {
  const { oracle, client, person, model, path, random } = turn
  const id = someId(turn)
  const now = oracle.now[model].get(id)
  const isReached = now !== undefined && oracle.reaches(model, 'delete', person, now)
  const status = forbiddenUnless(turn, 'delete') ?? (isReached ? 200 : 404)
  if (random.isSo(0.5)) return expectStatus(`preview ${id}`, await client.delete(`${path}/${id}?preview=true`), status)
  // Whether a record loses a tag before it is deleted with its group depends on the engine.
  const isBoth = ({ data }: State) => data.group === id && ((data.tags ?? []) as number[]).includes(id)
  if (model === 'g.Group' && [...oracle.now['g.Item'].values()].some(isBoth)) return undefined
  const answer = await client.delete(`${path}/${id}`)
  if (answer.status === 200) {
    oracle.remove(model, id)
    await synchronise(turn)
  }
  return expectStatus(`delete ${id}`, answer, status)
}

/** Takes over versions that a delete has changed. */
async function synchronise({ oracle, admin }: World): Promise<void> {
  const { body } = await admin.get('/ws/rest/g.Item?limit=500&fields=id')
  for (const { id, version } of body.data) Object.assign(oracle.now['g.Item'].get(id) ?? {}, { version })
}

/** All or nothing: the second operation may be refused. */
async function batch(turn: Turn): Promise<string | undefined> {
  const { oracle, random, client, person, model } = turn
  const all = [0, 1].map(() => randomData(model, random, groupsFor(turn)))
  const answer = await client.send('POST', '/ws/batch', { data: all.map((data) => ({ create: model, data })) })
  const outcomes = all.map((data) => ({ ...accepted(turn, data), data }))
  const states = outcomes.map(
    ({ written }): State => ({ id: 0, version: 0, createdBy: person.username, data: written }),
  )
  const isWithin = oracle.reachOutcome(model, 'create', person, states)
  const status =
    forbiddenUnless(turn, 'create') ?? (outcomes.some(({ isRefused }) => isRefused) ? 422 : isWithin ? 200 : 403)
  if (answer.status === 200)
    for (const [index, state] of states.entries()) oracle.write(model, { ...state, id: answer.body.data[index].id })
  return expectStatus('batch', answer, status)
}

async function meta({ oracle, client, person, model }: Turn): Promise<string | undefined> {
  const { status, body } = await client.get(`/ws/meta/fields/${model}`)
  if (status === 404) return undefined
  const names = body.data[0].fields.map(({ name }: { name: string }) => name)
  const hidden = fieldsOf(model).filter(
    (name) => !oracle.mayRead(model, person, name) && !oracle.mayWrite(model, person, name),
  )
  return differ(
    'metadata',
    names.filter((name: string) => hidden.includes(name)),
    [],
  )
}

export const REQUESTS: Request[] = [
  find,
  find,
  read,
  read,
  askUnknown,
  count,
  searchWords,
  expandGroup,
  expandItems,
  history,
  deleted,
  exportAll,
  feed,
  create,
  create,
  update,
  update,
  update,
  remove,
  batch,
  meta,
]
