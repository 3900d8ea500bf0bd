import { randomUUID } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { Client, login } from '../client.ts'
import { startPostgres } from '../postgres-server.ts'
import { kill, makeCrashFolder, type Running, startService } from './harness.ts'
import { openProxy } from './proxy.ts'

/**
 * Two nodes on one PostgreSQL server. Nodes are killed or suspended, connections are cut, and the server is stopped,
 * while many clients write and during changes of the model.
 */

interface Books {
  /** last acknowledged text of each record, by id */
  texts: Map<number, string>
  acknowledged: number
  again: number
}

/** Retries each request on alternating nodes until it is answered; its key makes sure that it is executed once. */
async function work(nodes: () => string[], cookie: string, books: Books, isOver: () => boolean): Promise<void> {
  const send = async (method: string, path: string, data: object) => {
    const headers = { 'idempotency-key': randomUUID() }
    for (let nth = 0; ; nth++) {
      const urls = nodes()
      const client = Object.assign(new Client(urls[nth % urls.length] as string), { cookie })
      const answer = await client.send(method, path, { data }, headers).catch(() => undefined)
      // The request was executed, and the table has changed since: the response then only names the record.
      const isDone = answer?.body.code === 'KEY_REUSED' && answer.body.data !== undefined
      if (answer && (answer.status === 200 || isDone)) {
        if (nth > 0) books.again++
        return answer.body.data[0]
      }
      // A request with the same key may still be running, or a node or the database may be down.
      const isAway = !answer || answer.status === 503 || answer.body.code === 'KEY_IN_USE'
      if (!isAway) throw new Error(`${method} answered ${answer.text}`)
      await sleep(20)
    }
  }
  while (!isOver()) {
    const text = randomUUID()
    const { id, version } = await send('PUT', '/ws/rest/crash.Item', { text })
    books.texts.set(id, text)
    const changed = `${text} changed`
    await send('POST', `/ws/rest/crash.Item/${id}`, { version, text: changed })
    books.texts.set(id, changed)
    books.acknowledged += 2
  }
}

/** The model after so many edits: each adds a field, and turns numbers into texts or texts into numbers. */
const editOf = (nth: number) => ({
  type: 'object',
  properties: {
    text: { type: 'string' },
    n: nth % 2 === 0 ? { type: 'integer', default: 7 } : { type: 'string', default: '7' },
    [`edit${nth}`]: { type: 'string', default: 'new' },
  },
})

const saveEdit = (folder: string, nth: number) =>
  writeFileSync(join(folder, 'models', 'crash.Item.json'), JSON.stringify(editOf(nth)))

export async function crashNodes(folder: string, rounds: number, say: (line: string) => void): Promise<string[]> {
  const server = await startPostgres(['fsync=on'])
  const proxy = await openProxy(`${new URL(server.url).searchParams.get('host')}/.s.PGSQL.5432`)
  process.env.DATABASE_URL = `postgres://postgres@127.0.0.1:${proxy.port}/postgres`
  const folders = ['one', 'two'].map((name) => join(folder, name))
  for (const place of folders) {
    mkdirSync(place, { recursive: true })
    makeCrashFolder(place)
    saveEdit(place, 0)
  }
  // Both nodes start at the same time, on an empty database.
  const nodes = await Promise.all(folders.map(startService))
  const { cookie = '' } = await login((nodes[0] as Running).url)
  const books: Books = { texts: new Map(), acknowledged: 0, again: 0 }
  let isOver = false
  const urls = () => nodes.map(({ url }) => url)
  const working = Promise.all(Array.from({ length: 12 }, () => work(urls, cookie, books, () => isOver)))
  const again = async (at: number) => {
    await kill((nodes[at] as Running).child)
    nodes[at] = await startService(folders[at] as string)
  }
  let edits = 0
  const edit = () => {
    edits++
    for (const place of folders) saveEdit(place, edits)
  }
  /** With a random delay: the nodes may be polling the folder, planning, or changing the tables. */
  const editFor = (): Promise<void> => {
    edit()
    return sleep(Math.random() * 1500)
  }
  const disturbances: [string, (round: number) => unknown][] = [
    ['connections are cut', () => proxy.cut()],
    ['the database is ended', () => server.restart()],
    ['a node is killed', (round) => again(round % 2)],
    ['the database is ended in a change of the model', () => editFor().then(() => server.restart())],
    ['a node is killed in a change of the model', (round) => editFor().then(() => again(round % 2))],
    [
      'a node sleeps through a change of the model',
      async (round) => {
        const sleeper = nodes[round % 2] as Running
        sleeper.child.kill('SIGSTOP')
        edit()
        await untilServed([(nodes[(round + 1) % 2] as Running).url], edits)
        sleeper.child.kill('SIGCONT')
      },
    ],
  ]
  const untilServed = async (of: string[], nth: number) => {
    for (const url of of) {
      const client = Object.assign(new Client(url), { cookie })
      const isServed = () => client.get('/ws/meta/fields/crash.Item').then(({ text }) => text.includes(`"edit${nth}"`))
      while (!(await isServed().catch(() => false))) await sleep(50)
    }
  }
  for (let round = 0; round < rounds; round++) {
    const [name, disturb] = disturbances[round % disturbances.length] as (typeof disturbances)[number]
    await Promise.race([sleep(300 + Math.random() * 700), working])
    await disturb(round)
    await Promise.race([untilServed(urls(), edits), working])
    const { acknowledged, again } = books
    say(`round ${round + 1} of ${rounds}, ${name}: ${acknowledged} acknowledged, ${again} sent again`)
  }
  isOver = true
  await working
  const faults = await audit(server.url, books, urls()[0] as string, cookie)
  for (const { child } of nodes) await kill(child, 'SIGTERM')
  delete process.env.DATABASE_URL
  proxy.close()
  await server.stop()
  return faults
}

/** Checks that each write was executed once and is in the feed, and that the total is right. */
async function audit(url: string, books: Books, node: string, cookie: string): Promise<string[]> {
  const client = new pg.Client(url)
  await client.connect()
  const { rows } = await client.query('SELECT id::int, text, version::int, n::text FROM "crash__Item" ORDER BY id')
  const changes = await client.query(`SELECT count(*)::int AS count FROM dossier_changes WHERE model = 'crash.Item'`)
  await client.end()
  const faults: string[] = []
  const there = new Map(rows.map((row) => [row.id, row]))
  for (const [id, text] of books.texts)
    if (there.get(id)?.text !== text || there.get(id)?.version !== 1)
      faults.push(`${id} is ${JSON.stringify(there.get(id))}`)
  // `n` was an integer or a text at the time, with the same default.
  for (const { id, n } of rows) if (n !== '7') faults.push(`${id} has ${n}`)
  if (there.size !== books.texts.size) faults.push(`${there.size} records, of which ${books.texts.size} were answered`)
  if (changes.rows[0].count !== 2 * there.size) faults.push(`${changes.rows[0].count} changes of ${there.size} records`)
  const reader = Object.assign(new Client(node), { cookie })
  const { total } = (await reader.get('/ws/rest/crash.Item?limit=0')).body
  if (total !== there.size) faults.push(`a total of ${total}, and ${there.size} records`)
  const told: number[] = []
  for (let since: number | undefined; ; ) {
    const from = since === undefined ? '' : `&since=${since}`
    const { data, next } = (await reader.get(`/ws/changes?limit=1000&models=crash.Item${from}`)).body
    told.push(...data.map(({ change }: { change: number }) => change))
    if (next === since) break
    since = next
  }
  if (new Set(told).size !== 2 * there.size) faults.push(`${told.length} changes are told, of ${2 * there.size}`)
  return faults
}
