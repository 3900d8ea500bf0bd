import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Client, login } from '../client.ts'
import { exitOf, kill, type Running, startService } from './harness.ts'

/** Clients disconnect before the response, and retry with the same key: each request must be executed once. */

const ITEMS = '/ws/rest/crash.Item'
/** A key that is in use for longer than this counts as never released. */
const PATIENCE_MS = 30_000
/** Maximum of disconnects per request. */
const MOST_LEAVES = 4

/** When a client disconnects. The response with a long record arrives in several chunks. */
const MOMENTS = ['after the head', 'in the body', 'after all of it', 'a moment later', 'in the answer'] as const
type Moment = (typeof MOMENTS)[number]

interface Request {
  key: string
  method: string
  path: string
  body: string
  type?: string
}

interface Said {
  status: number
  isReplayed: boolean
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into an answer without describing it first
  body: any
}

interface Round {
  port: number
  token: string
  faults: string[]
  /** number of disconnects, by moment */
  left: Map<Moment, number>
  /** number of replayed responses, whose requests had been executed before */
  replayed: number
}

const anyOf = <Item>(items: readonly Item[]) => items[Math.floor(Math.random() * items.length)] as Item

async function open({ port }: Round): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  // A connection that either side resets may emit an error at any time.
  socket.on('error', () => {})
  return socket
}

function headOf({ token }: Round, { key, method, path, body, type = 'application/json' }: Request): string {
  const lines = [
    `${method} ${path} HTTP/1.1`,
    'Host: localhost',
    'Connection: close',
    `Authorization: Bearer ${token}`,
    `Idempotency-Key: ${key}`,
    ...(body === '' ? [] : [`Content-Type: ${type}`, `Content-Length: ${Buffer.byteLength(body)}`]),
  ]
  return `${lines.join('\r\n')}\r\n\r\n`
}

/** Sends a request, or a part of it, and disconnects at `moment`. */
async function leave(round: Round, request: Request, moment: Moment): Promise<void> {
  const socket = await open(round)
  const { body } = request
  const part = { 'after the head': '', 'in the body': body.slice(0, Math.random() * body.length) }[moment as string]
  const sent = new Promise((resolve) => socket.write(headOf(round, request) + (part ?? body), resolve))
  const gone = once(socket, 'close')
  await Promise.race([sent, gone])
  if (moment === 'in the answer') await Promise.race([once(socket, 'data').catch(() => {}), gone])
  if (moment === 'a moment later') await sleep(Math.random() * 10)
  // Either sends RST, as after a network failure, or closes in an orderly way.
  if (Math.random() < 0.5) socket.resetAndDestroy()
  else socket.destroy()
  await gone
  round.left.set(moment, (round.left.get(moment) ?? 0) + 1)
}

/** Sends a request and waits for the response; undefined if the connection is closed without one. */
async function stay(round: Round, request: Request): Promise<Said | undefined> {
  const socket = await open(round)
  const pieces: Buffer[] = []
  socket.on('data', (piece: Buffer) => pieces.push(piece))
  const gone = once(socket, 'close')
  socket.write(headOf(round, request) + request.body)
  await gone
  const [head = '', body = ''] = Buffer.concat(pieces).toString().split('\r\n\r\n')
  const status = Number(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1])
  if (Number.isNaN(status)) return undefined
  return { status, isReplayed: /^idempotency-replayed: true/im.test(head), body: JSON.parse(body) }
}

/** Disconnects a random number of times, then retries until the request is answered. */
async function untilAnswered(round: Round, request: Request): Promise<Said> {
  for (let nth = Math.floor(Math.random() * (MOST_LEAVES + 1)); nth > 0; nth--)
    await leave(round, request, anyOf(MOMENTS))
  for (const end = performance.now() + PATIENCE_MS; ; await sleep(5)) {
    const said = await stay(round, request)
    const isNotYet = said === undefined || said.status === 503 || said.body.code === 'KEY_IN_USE'
    if (!isNotYet || performance.now() > end) {
      if (said?.isReplayed) round.replayed++
      return said ?? { status: 0, isReplayed: false, body: 'nothing' }
    }
  }
}

/** The data that one client expects. */
interface Known {
  /** by id */
  texts: Map<number, { version: number; text: string }>
  imported: number
  /** expected number of changes in the journal */
  changes: number
  requests: Request[]
}

async function work(round: Round, worker: number, things: number): Promise<Known> {
  const known: Known = { texts: new Map(), imported: 0, changes: 0, requests: [] }
  const send = async (method: string, path: string, body: unknown, type?: string) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const request: Request = { key: randomUUID(), method, path, body: text, ...(type && { type }) }
    known.requests.push(request)
    const { status, body: said } = await untilAnswered(round, request)
    if (status !== 200) round.faults.push(`${method} ${path}: ${JSON.stringify(said).slice(0, 500)}`)
    return status === 200 ? said.data : undefined
  }
  const steps = [
    async (text: string) => {
      const [made] = (await send('PUT', ITEMS, { data: { text } })) ?? []
      if (made) known.texts.set(made.id, { version: 0, text })
      known.changes++
    },
    async (text: string, id: number, version: number) => {
      await send('POST', `${ITEMS}/${id}`, { data: { version, text } })
      known.texts.set(id, { version: version + 1, text })
      known.changes++
    },
    async (text: string, id: number, version: number) => {
      const data = [
        { create: 'crash.Item', data: { text } },
        { update: 'crash.Item', data: { id, version, text } },
      ]
      const [made] = (await send('POST', '/ws/batch', { data })) ?? []
      if (made) known.texts.set(made.id, { version: 0, text })
      known.texts.set(id, { version: version + 1, text })
      known.changes += 2
    },
    async (text: string) => {
      await send('POST', `${ITEMS}/import`, `text,size\n${`${text.slice(0, 20)},imported\n`.repeat(30)}`, 'text/csv')
      known.imported += 30
      known.changes += 30
    },
    async (_text: string, id: number, version: number) => {
      await send('DELETE', `${ITEMS}/${id}?version=${version}`, '')
      known.texts.delete(id)
      known.changes++
    },
  ]
  for (let i = 0; i < things; i++) {
    // Some texts are so long that request and response are sent in several chunks.
    const text = `${worker}.${i}.${'z'.repeat(anyOf([0, 1000, 300_000]))}`
    const [id, last] = [...known.texts].at(-1) ?? []
    // A user may run only one import at a time: other workers would mostly wait for it.
    const step = i % steps.length === 3 && worker > 0 ? 0 : i % steps.length
    await (id === undefined || last === undefined ? steps[0] : steps[step])?.(text, id ?? 0, last?.version ?? 0)
  }
  return known
}

/** Checks that each write was executed once, and that every key replays its response. */
async function audit(round: Round, admin: Client, all: Known[]): Promise<void> {
  const { faults } = round
  const expected = new Map(all.flatMap(({ texts }) => [...texts]))
  for (const [id, { version, text }] of expected) {
    const { data: [record] = [] } = (await admin.get(`${ITEMS}/${id}`)).body
    if (record?.version !== version || record.text !== text)
      faults.push(`${id} should have version ${version}, but has ${record?.version}`)
  }
  const sum = (one: (known: Known) => number) => all.map(one).reduce((total, count) => total + count, 0)
  const { total } = (await admin.get(`${ITEMS}?limit=0`)).body
  const imported = sum((known) => known.imported)
  if (total !== expected.size + imported) faults.push(`${total} records, and not ${expected.size} and ${imported}`)
  const changes = await countChanges(admin)
  const wanted = sum((known) => known.changes)
  if (changes !== wanted) faults.push(`${changes} changes were made, and not ${wanted}`)
  for (const request of all.flatMap(({ requests }) => requests)) {
    const said = await stay(round, request)
    if (said?.status !== 200 || !said.isReplayed) faults.push(`${request.key}, again: ${JSON.stringify(said)}`)
  }
}

async function countChanges(admin: Client): Promise<number> {
  for (let [count, since] = [0, 0]; ; ) {
    const { data, next } = (await admin.get(`/ws/changes?limit=1000&since=${since}`)).body
    count += data.length
    if (next === since) return count
    since = next
  }
}

/** Runs `workers` clients with `things` requests each. Returns the faults and the number of disconnects. */
export async function leftAlone(folder: string, workers: number, things: number) {
  const running: Running = await startService(folder)
  const admin = await login(running.url)
  const { body } = await admin.put('/ws/me/tokens', { name: 'leave' })
  const round: Round = {
    port: Number(new URL(running.url).port),
    token: body.data[0].token,
    faults: [],
    left: new Map(),
    replayed: 0,
  }
  const all = await Promise.all(Array.from({ length: workers }, (_, worker) => work(round, worker, things)))
  await audit(round, admin, all)
  round.faults.push(...exitOf(running.child))
  await kill(running.child, 'SIGTERM')
  const left = [...round.left.values()].reduce((total, count) => total + count, 0)
  return { faults: round.faults, left, replayed: round.replayed, things: workers * things }
}
