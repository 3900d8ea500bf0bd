import type { Answer } from '../client.ts'
import { type Data, fieldsOf, type ModelName, randomData, type State } from './model.ts'
import { differ, expectStatus, forbiddenUnless, groupsFor, knows, type Turn } from './requests.ts'

/**
 * Requests whose outcome depends on much: what they did is read as an admin afterwards,
 * and every single change must have been allowed to the person.
 */

interface Change {
  model: ModelName
  id: number
  before: State | undefined
  after: State | undefined
}

interface Sent {
  answer: Answer
  changes: Change[]
  fault?: string | undefined
}

const SERVICE_FIELDS = new Set(['id', 'version', 'createdOn', 'createdBy', 'updatedOn', 'updatedBy', 'items'])

/** The record as it is now. */
async function readNow({ admin }: Turn, model: ModelName, id: number): Promise<State | undefined> {
  const { status, body } = await admin.get(`/ws/rest/${model}/${id}`)
  if (status === 404) return undefined
  const row = body.data[0]
  const data: Data = Object.fromEntries(Object.entries(row).filter(([name]) => !SERVICE_FIELDS.has(name))) as Data
  return { id, version: row.version, createdBy: row.createdBy, data }
}

const FAR = 1e9

/** Sends a request, takes over what it changed, and compares each change with the person's rights. */
async function send(turn: Turn, isWhole: boolean, request: () => Promise<Answer>): Promise<Sent> {
  const { oracle, admin } = turn
  const before = (await admin.get('/ws/changes?limit=1000')).body
  let since = before.next
  for (let last = -1; last !== since; ) {
    last = since
    since = (await admin.get(`/ws/changes?limit=1000&since=${since}`)).body.next
  }
  const answer = await request()
  const { body } = await admin.get(`/ws/changes?limit=1000&since=${since}`)
  const changes: Change[] = []
  for (const { model, id } of body.data as { model: ModelName; id: number }[]) {
    if (changes.some((one) => one.model === model && one.id === id)) continue
    changes.push({ model, id, before: oracle.now[model].get(id), after: await readNow(turn, model, id) })
  }
  if (answer.status !== 200 && changes.length > 0) return { answer, changes, fault: 'a refused request has an effect' }
  const isReached = changes.map((change) => reachedBefore(turn, change, changes))
  for (const { model, id, before, after } of changes) {
    if (after) oracle.now[model].set(id, after)
    else oracle.now[model].delete(id)
    if (!after && before) oracle.gone[model].set(id, before)
    oracle.changes.push({ model, id, before, after })
  }
  const bad = changes.findIndex((change, index) => !isReached[index] || !reachedAfter(turn, change, changes, isWhole))
  return { answer, changes, fault: bad < 0 ? undefined : `not allowed: ${JSON.stringify(changes[bad])}` }
}

const isDeletedIn = (changes: Change[], group: unknown) =>
  changes.some(({ model, id, after }) => model === 'g.Group' && id === group && !after)

function reachedBefore({ oracle, person }: Turn, { model, before, after }: Change, changes: Change[]): boolean {
  if (!before) return true
  if (after) return isCleared(before, after, changes) || oracle.reaches(model, 'update', person, before)
  return isDeletedIn(changes, before.data.group) || oracle.reaches(model, 'delete', person, before)
}

/** Whether only tags are gone that were deleted with the same request. */
function isCleared(before: State, after: State, changes: Change[]): boolean {
  const changed = Object.keys(after.data).filter((name) => !isSame(before.data[name], after.data[name]))
  const lost = ((before.data.tags ?? []) as number[]).filter(
    (id) => !((after.data.tags ?? []) as number[]).includes(id),
  )
  return changed.join() === 'tags' && lost.length > 0 && lost.every((id) => isDeletedIn(changes, id))
}

const isSame = (one: unknown, other: unknown) => JSON.stringify(one ?? null) === JSON.stringify(other ?? null)

function reachedAfter(
  { oracle, person }: Turn,
  { model, before, after }: Change,
  changes: Change[],
  isWhole: boolean,
): boolean {
  if (!after || (before && isCleared(before, after, changes))) return true
  const isWithin = oracle.reaches(model, before ? 'update' : 'create', person, after)
  const changed = fieldsOf(model).filter((name) => !isSame(before?.data[name], after.data[name]))
  // A restored record has all its fields again, whoever restores it.
  return isWithin && ((isWhole && !before) || changed.every((name) => oracle.mayWrite(model, person, name)))
}

/** A field that does not exist for the person must not be in the answer. */
function showsSecret({ oracle, person, model }: Turn, { text }: Answer): string | undefined {
  const isHidden = !oracle.mayRead(model, person, 'secret')
  return isHidden && /"secret"/.test(text) && !oracle.mayWrite(model, person, 'secret')
    ? `a hidden field in ${text.slice(0, 300)}`
    : undefined
}

export async function restoreDeleted(turn: Turn): Promise<string | undefined> {
  const { oracle, random, client, model, path } = turn
  const ids = [...oracle.gone[model].keys()].filter((id) => !oracle.now[model].has(id))
  const id = random.oneOf([...ids, FAR])
  const isKnown = knows(turn, id)
  const { answer, fault } = await send(turn, true, () => client.send('POST', `${path}/${id}/restore`, { data: {} }))
  const mayCreate = forbiddenUnless(turn, 'create') === undefined
  const refused = isKnown && mayCreate ? [200, 403, 409, 422] : [403, 404]
  return fault ?? expectStatus(`restore ${id}`, answer, refused) ?? showsSecret(turn, answer)
}

export async function restoreVersion(turn: Turn): Promise<string | undefined> {
  const { oracle, random, client, model, path } = turn
  const id = random.oneOf([...oracle.now[model].keys(), FAR])
  const version = oracle.now[model].get(id)?.version ?? 0
  const data = { version, to: random.below(version + 1) }
  const { answer, fault } = await send(turn, false, () => client.send('POST', `${path}/${id}/restore`, { data }))
  const isReached = knows(turn, id)
  const allowed = isReached ? [200, 400, 403, 404, 409, 410, 422] : [200, 403, 404]
  return fault ?? expectStatus(`restore ${id} to ${data.to}`, answer, allowed) ?? showsSecret(turn, answer)
}

export async function undo(turn: Turn): Promise<string | undefined> {
  const { random, client, admin } = turn
  const { body } = await admin.get('/ws/changes?limit=1000')
  const change = random.oneOf(body.data as { change: number; model: ModelName; id: number }[])
  const path = `/ws/changes/${change.change}/undo`
  const { answer, fault } = await send(turn, true, () => client.send('POST', path, { data: {} }))
  if (fault) return fault
  const isKnown = knows({ ...turn, model: change.model }, change.id)
  const allowed = isKnown ? [200, 403, 404, 409, 410, 422] : [200, 403, 404, 409]
  return expectStatus(`undo ${change.change}`, answer, allowed) ?? showsSecret({ ...turn, model: change.model }, answer)
}

export async function importRows(turn: Turn): Promise<string | undefined> {
  const { oracle, random, client, model, path } = turn
  const rows = [0, 1].map(() => {
    const data = randomData(model, random, groupsFor(turn))
    return random.isSo(0.5) ? { ...data, id: random.oneOf([...oracle.now[model].keys(), FAR]) } : data
  })
  const isByKey = random.isSo(0.5)
  const query = `format=ndjson${isByKey ? '&key=id' : ''}${random.isSo(0.3) ? '&dryRun=true' : ''}`
  const text = rows.map((row) => `${JSON.stringify(row)}\n`).join('')
  const { answer, fault } = await send(turn, false, () =>
    client.send('POST', `${path}/import?${query}`, text, { 'content-type': 'application/x-ndjson' }),
  )
  return fault ?? expectStatus(`import ${text}`, answer, [200, 403, 404, 409, 422]) ?? showsSecret(turn, answer)
}

/** A group with new items, or with changes to items of it. */
export async function nested(turn: Turn): Promise<string | undefined> {
  const { oracle, random, client } = turn
  const { group, ...item } = randomData('g.Item', random, groupsFor(turn))
  const id = random.oneOf([...oracle.now['g.Group'].keys(), FAR])
  const some = random.oneOf([...oracle.now['g.Item'].values()])
  const given = some && { id: some.id, version: some.version }
  const items = random.oneOf([
    { create: [item] },
    ...(given ? [{ update: [{ ...given, ...item }] }, { delete: [given] }, { create: [item], delete: [given] }] : []),
  ])
  const data = { name: 'nested', version: oracle.now['g.Group'].get(id)?.version ?? 0, items }
  const { answer, fault } = await send(turn, false, () => client.send('POST', `/ws/rest/g.Group/${id}`, { data }))
  return fault ?? expectStatus(`nested ${JSON.stringify(data)}`, answer, [200, 403, 404, 409, 422])
}

/** A repeated request has one effect; its answer never has more than the first one. */
export async function replay(turn: Turn): Promise<string | undefined> {
  const { random, client, path, model } = turn
  const data = randomData(model, random, groupsFor(turn))
  const headers = { 'idempotency-key': `key-${random.next()}` }
  const put = () => client.send('PUT', path, { data }, headers)
  const first = await send(turn, false, put)
  if (first.fault) return first.fault
  const second = await send(turn, false, put)
  if (first.answer.status !== 200) return differ('refused again', second.answer.status, first.answer.status)
  return differ('effects of a repeat', second.changes, []) ?? differ('repeat', second.answer.text, first.answer.text)
}

/** Page by page, the same records are found as at once. */
export async function pages(turn: Turn): Promise<string | undefined> {
  const { oracle, client, path, model, person, random } = turn
  if (!oracle.mayAtAll(model, 'read', person)) return undefined
  const sort = random.oneOf(['-id', 'name', '-name,id'])
  const ids: number[] = []
  for (let cursor = '', isMore = true; isMore; ) {
    const { body } = await client.get(`${path}?limit=3&sort=${sort}&fields=name${cursor}`)
    ids.push(...body.data.map((row: State) => row.id))
    isMore = typeof body.next === 'string'
    cursor = `&after=${encodeURIComponent(body.next ?? '')}`
  }
  const byNumber = (a: number, b: number) => a - b
  const wanted = oracle.visible(model, person).map(({ id }) => id)
  return differ(`pages by ${sort}`, ids.sort(byNumber), wanted.sort(byNumber))
}
