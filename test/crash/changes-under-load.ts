import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client, login } from '../client.ts'
import { kill, makeCrashFolder, type Running, startService, until } from './harness.ts'

/**
 * Models change again and again, on several nodes of one database, while clients read and write. No request may fail:
 * neither one to the changing model nor one to a model that refers to it. Nodes may be killed during a change; only
 * requests whose connection is lost are sent again then.
 */

const ITEM = '/ws/rest/crash.Item'
const PART = '/ws/rest/crash.Part'

/**
 * Fields beside `text`, which all models have. Each follows from the one before by another kind of change. A name that
 * is given up is not used again in a later `round`: its values would be in the way of a rename.
 */
const fieldsOf = (round: number): object[] => [
  { size: { type: 'string', index: true } },
  { size: { type: 'integer' } },
  { size: { type: 'integer' }, [`note${round}`]: { type: 'string', default: 'new' } },
  { size: { type: 'integer', unique: true }, label: { type: 'string', computed: '{text}!' } },
  { size: { type: 'string' }, part: { type: 'integer', reference: 'crash.Part', onDelete: 'clear' } },
  { weight: { type: 'string', renamedFrom: 'size' }, part: { type: 'integer', reference: 'crash.Part' } },
  { size: { type: 'number', renamedFrom: 'weight' }, label: { type: 'string', computed: '{text}?' } },
  { [`remark${round}`]: { type: 'string', renamedFrom: `note${round}`, index: true } },
]

const KINDS = fieldsOf(0).length

/** The model after so many edits. */
function editOf(nth: number): object {
  const fields = fieldsOf(Math.floor(nth / KINDS))[nth % KINDS]
  return { type: 'object', properties: { text: { type: 'string' }, ...fields, [`edit${nth}`]: { type: 'string' } } }
}

const saveEdit = (folder: string, nth: number) =>
  writeFileSync(join(folder, 'models', 'crash.Item.json'), JSON.stringify(editOf(nth)))

interface Load {
  faults: string[]
  /** last acknowledged version and text of each record */
  known: Map<number, { version: number; text: string }>
  /** milliseconds, by kind of request */
  times: Map<string, number[]>
}

/**
 * Sends one request after the other, to a random node. One without an answer is sent again only if that is harmless.
 */
async function work(nodes: () => string[], cookie: string, load: Load, isOver: () => boolean): Promise<void> {
  const send = async (kind: string, method: string, path: string, data?: object) => {
    for (let isAgain = false; ; isAgain = true) {
      const urls = nodes()
      const url = urls[Math.floor(Math.random() * urls.length)] as string
      const client = Object.assign(new Client(url), { cookie })
      const start = performance.now()
      const answer = await client.send(method, path, data && { data }).catch(() => undefined)
      const ms = performance.now() - start
      if (!answer && method === 'GET') continue
      // The node was killed: nobody knows whether this was written.
      if (!answer) return undefined
      load.times.set(kind, [...(load.times.get(kind) ?? []), ms])
      if (answer.status === 200) return answer.body
      load.faults.push(
        `${kind} answered ${answer.status}${isAgain ? ' at another try' : ''}: ${answer.text.slice(0, 300)}`,
      )
      return undefined
    }
  }
  while (!isOver()) {
    const text = `t${Math.random()}`
    const id = (await send('create', 'PUT', ITEM, { text }))?.data[0].id
    if (id === undefined) continue
    load.known.set(id, { version: 0, text })
    const read = (await send('read', 'GET', `${ITEM}/${id}`))?.data[0]
    if (read?.text !== text) load.faults.push(`${id} is read as ${JSON.stringify(read)}`)
    const part = (await send('create of another model', 'PUT', PART, { text, item: id }))?.data[0]
    const changed = await send('update', 'POST', `${ITEM}/${id}`, { version: 0, text: `${text} changed` })
    if (changed) load.known.set(id, { version: 1, text: `${text} changed` })
    else load.known.delete(id)
    await send('find', 'GET', `${ITEM}?limit=5&sort=-id`)
    await send('search', 'GET', `${ITEM}?text[like]=${text}%25&limit=2`)
    if (part) await send('read of another model', 'GET', `${PART}/${part.id}?expand=item`)
  }
}

export interface SteadyOptions {
  edits: number
  nodes?: number
  /** every so many edits a node is killed while it changes tables */
  killEvery?: number
  say?(line: string): void
}

export async function changeUnderLoad(folder: string, options: SteadyOptions): Promise<string[]> {
  const { edits, killEvery = Number.POSITIVE_INFINITY, say = () => {} } = options
  const folders = Array.from({ length: options.nodes ?? 2 }, (_, nth) => join(folder, String(nth)))
  for (const place of folders) {
    mkdirSync(place, { recursive: true })
    makeCrashFolder(place)
    saveEdit(place, 0)
  }
  const nodes: Running[] = []
  for (const place of folders) nodes.push(await startService(place))
  const { cookie = '' } = await login((nodes[0] as Running).url)
  const load: Load = { faults: [], known: new Map(), times: new Map() }
  let isOver = false
  const urls = () => nodes.map(({ url }) => url)
  const working = Promise.all(Array.from({ length: 8 }, () => work(urls, cookie, load, () => isOver)))
  const isServed = (nth: number) => async () => {
    for (const url of urls()) {
      const client = Object.assign(new Client(url), { cookie })
      const fields = await client.get('/ws/meta/fields/crash.Item').catch(() => undefined)
      if (!fields?.text.includes(`"edit${nth}"`)) return false
    }
    return true
  }
  for (let nth = 1; nth <= edits && load.faults.length < 20; nth++) {
    await sleep(Math.random() * 300)
    const start = performance.now()
    for (const place of folders) saveEdit(place, nth)
    if (nth % killEvery === 0) {
      await sleep(Math.random() * 1500)
      const at = nth % folders.length
      await kill((nodes[at] as Running).child)
      nodes[at] = await startService(folders[at] as string)
    }
    const late = await until(`edit ${nth} is served by all`, isServed(nth), 120)
    if (late.length > 0) for (const { output } of nodes) say(linesOf(output()).slice(-40).join('\n'))
    load.faults.push(...late)
    const ms = Math.round(performance.now() - start)
    say(`edit ${nth} of ${edits} in ${ms} ms: ${load.known.size} records, ${load.faults.length} faults`)
  }
  isOver = true
  await working
  load.faults.push(...(await audit(urls()[0] as string, cookie, load)))
  for (const { child } of nodes) await kill(child, 'SIGTERM')
  for (const [kind, times] of load.times) {
    const sorted = times.sort((a, b) => a - b)
    const at = (part: number) => Math.round(sorted[Math.floor(part * (sorted.length - 1))] as number)
    say(`${kind}: ${sorted.length} requests, median ${at(0.5)}, 99 % ${at(0.99)}, longest ${at(1)} ms`)
  }
  return load.faults
}

/** Log lines that are not about a request. */
const linesOf = (output: string) => output.split('\n').filter((line) => !/"msg":"(?:answered|dropped)"/.test(line))

/** Checks that all acknowledged writes are there. */
async function audit(url: string, cookie: string, { known }: Load): Promise<string[]> {
  const client = Object.assign(new Client(url), { cookie })
  const faults: string[] = []
  for (const [id, { version, text }] of known) {
    const record = (await client.get(`${ITEM}/${id}`)).body.data?.[0]
    // Clearing a reference is an update too, and no other client updates the record.
    if (record?.version !== version || record.text !== text) faults.push(`${id} is ${JSON.stringify(record)}`)
  }
  return faults
}
