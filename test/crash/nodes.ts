import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import pg from 'pg'
import { Client, login } from '../helper.ts'
import { startPostgres } from '../postgres-server.ts'
import { kill, makeCrashFolder, type Running, startService } from './harness.ts'

/** Two nodes on one PostgreSQL: nodes are killed, connections cut, and the server itself ended, while many write. */

/** Stands between the nodes and the database, and can cut them off. */
async function openProxy(socket: string) {
  const open = new Set<Socket>()
  const server = createServer((one) => {
    const other = connect(socket)
    const join = (from: Socket, to: Socket) => {
      open.add(from)
      from.pipe(to)
      from.on('error', () => to.destroy())
      from.on('close', () => {
        open.delete(from)
        to.destroy()
      })
    }
    join(one, other)
    join(other, one)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const cut = () => {
    for (const one of open) one.destroy()
  }
  const close = () => {
    server.close()
    cut()
  }
  return { port: (server.address() as AddressInfo).port, cut, close }
}

interface Books {
  /** what was answered to have been created or changed: the text that each has now */
  texts: Map<number, string>
  acknowledged: number
  again: number
}

/** Sends each request until it is answered, to whichever node answers; under its key each is done once. */
async function work(nodes: () => string[], cookie: string, books: Books, isOver: () => boolean): Promise<void> {
  const send = async (method: string, path: string, data: object) => {
    const headers = { 'idempotency-key': randomUUID() }
    for (let nth = 0; ; nth++) {
      const urls = nodes()
      const client = Object.assign(new Client(urls[nth % urls.length] as string), { cookie })
      const answer = await client.send(method, path, { data }, headers).catch(() => undefined)
      if (answer?.status === 200) {
        if (nth > 0) books.again++
        return answer.body.data[0]
      }
      // A request of the same key may still be under way, and a node or the database may be away.
      const isAway = !answer || answer.status === 503 || answer.body.code === 'KEY_IN_USE'
      if (!isAway) throw new Error(`${method} answered ${answer.text}`)
      await setTimeout(20)
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

export async function crashNodes(folder: string, rounds: number, say: (line: string) => void): Promise<string[]> {
  const server = await startPostgres(['fsync=on'])
  const proxy = await openProxy(`${new URL(server.url).searchParams.get('host')}/.s.PGSQL.5432`)
  process.env.DATABASE_URL = `postgres://postgres@127.0.0.1:${proxy.port}/postgres`
  const folders = ['one', 'two'].map((name) => join(folder, name))
  for (const place of folders) {
    mkdirSync(place, { recursive: true })
    makeCrashFolder(place)
  }
  // Both at once, on a database that has nothing yet.
  const nodes = await Promise.all(folders.map(startService))
  const { cookie = '' } = await login((nodes[0] as Running).url)
  const books: Books = { texts: new Map(), acknowledged: 0, again: 0 }
  let isOver = false
  const urls = () => nodes.map(({ url }) => url)
  const working = Promise.all(Array.from({ length: 12 }, () => work(urls, cookie, books, () => isOver)))
  const disturb = [
    async () => proxy.cut(),
    () => server.restart(),
    async (round: number) => {
      const at = round % 2
      await kill((nodes[at] as Running).child)
      nodes[at] = await startService(folders[at] as string)
    },
  ]
  const names = ['connections are cut', 'the database is ended', 'a node is killed']
  for (let round = 0; round < rounds; round++) {
    await Promise.race([setTimeout(300 + Math.random() * 700), working])
    await disturb[round % 3]?.(round)
    const { acknowledged, again } = books
    say(`round ${round + 1} of ${rounds}, ${names[round % 3]}: ${acknowledged} acknowledged, ${again} sent again`)
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

/** Each thing was done once, all of it is told, and totals are right. */
async function audit(url: string, books: Books, node: string, cookie: string): Promise<string[]> {
  const client = new pg.Client(url)
  await client.connect()
  const { rows } = await client.query('SELECT id::int, text, version::int FROM "crash__Item" ORDER BY id')
  const changes = await client.query(`SELECT count(*)::int AS count FROM dossier_changes WHERE model = 'crash.Item'`)
  await client.end()
  const faults: string[] = []
  const there = new Map(rows.map((row) => [row.id, row]))
  for (const [id, text] of books.texts)
    if (there.get(id)?.text !== text || there.get(id)?.version !== 1)
      faults.push(`${id} is ${JSON.stringify(there.get(id))}`)
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
