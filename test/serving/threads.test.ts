import { Agent, createServer as createHttpServer, request as httpRequest } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { MessageChannel, Worker } from 'node:worker_threads'
import t, { type Test } from 'tap'
import { requireFreePort } from '../../src/http/address.ts'
import { createLogger } from '../../src/logging.ts'
import type { Model } from '../../src/model/model.ts'
import { forward, listenForForwarded } from '../../src/serving/forward.ts'
import type { StorageRequest } from '../../src/serving/messages.ts'
import { RemoteCalls } from '../../src/serving/remote-calls.ts'
import { isServedHere } from '../../src/serving/served-here.ts'
import { countThreads, ServingThreads } from '../../src/serving/serving-threads.ts'
import { SwapFollower } from '../../src/serving/swap-follower.ts'
import { ThreadStorage } from '../../src/serving/thread-storage.ts'
import { openThreadReads } from '../../src/storage/open.ts'
import type { Statement } from '../../src/storage/storage.ts'
import { Damage } from '../../src/upkeep/damage.ts'
import { Metrics } from '../../src/upkeep/metrics.ts'
import { PASSWORD } from '../client.ts'
import { configOf, emptyFolder, logSink, startApp, testStorage, writeModel } from '../helper.ts'

/** Enough connections that each of three threads has some: the kernel spreads them by their ports. */
const CONNECTIONS = 40
const THREADS = 3

const NOTE = {
  type: 'object',
  properties: { n: { type: 'integer' }, text: { type: 'string' } },
  list: ['n'],
}
const NOTES = '/ws/rest/a.Note'
const METRICS_TOKEN = 'a-token-of-16-letters'

interface Got {
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into an answer without describing it first
  body: any
  headers: Record<string, string | string[] | undefined>
}

type Send = (method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<Got>

/** Clients with a connection of their own each, which they keep. */
function connections(
  t: Test,
  url: string,
  { cookie = '' }: { cookie?: string | undefined },
  count = CONNECTIONS,
): Send[] {
  return Array.from({ length: count }, () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    t.teardown(() => agent.destroy())
    return (method, path, body, headers = {}) =>
      new Promise((resolve, reject) => {
        const text = body === undefined ? undefined : JSON.stringify(body)
        const described = text && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }
        const sent = { cookie, ...described, ...headers }
        const request = httpRequest(url + path, { method, agent, headers: sent }, (response) => {
          let got = ''
          response.setEncoding('utf8')
          response.on('data', (chunk) => {
            got += chunk
          })
          response.on('end', () =>
            resolve({
              status: response.statusCode as number,
              body:
                got && String(response.headers['content-type']).startsWith('application/json') ? JSON.parse(got) : got,
              headers: response.headers,
            }),
          )
          response.on('error', reject)
        })
        request.on('error', reject)
        request.end(text)
      })
  })
}

async function startThreads(t: Test, models = { 'a.Note.json': NOTE }) {
  const log = logSink()
  const settings = { SERVING_THREADS: String(THREADS), LOG_LEVEL: 'info', METRICS_TOKEN }
  const options = { models, env: settings, log: log.stream }
  const service = await startApp(t, options)
  const client = await service.login()
  return { ...service, client, lines: log.lines, all: connections(t, service.url, client) }
}

async function scrape(url: string): Promise<string> {
  return (await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${METRICS_TOKEN}` } })).text()
}

/** Reads of single notes, according to the metrics. */
function readsIn(metrics: string): number {
  const line = /dossier_request_seconds_count\{method="GET",route="\/ws\/rest\/a\.Note\/:id",status="200"\} (\d+)/
  return Number(line.exec(metrics)?.[1])
}

/** The serving threads that are started while `work` runs. */
async function workersOf<Result>(work: () => Promise<Result>): Promise<{ result: Result; workers: Set<Worker> }> {
  const workers = new Set<Worker>()
  const { postMessage } = Worker.prototype
  Worker.prototype.postMessage = function (message: string) {
    if (message.includes('"do":"listen"')) workers.add(this)
    postMessage.call(this, message)
  }
  try {
    return { result: await work(), workers }
  } finally {
    Worker.prototype.postMessage = postMessage
  }
}

t.test('how many threads', async (t) => {
  const told: string[] = []
  const log = { info: (line: string) => told.push(line) } as unknown as Parameters<typeof countThreads>[1]
  t.equal(countThreads({ SERVING_THREADS: 1 }, log, 'darwin'), 1)
  t.equal(countThreads({ SERVING_THREADS: 5 }, log, 'linux'), 5)
  t.strictSame(told, [])
  t.equal(countThreads({ SERVING_THREADS: 5 }, log, 'darwin'), 1)
  t.match(told, [/on darwin/])
  const count = countThreads({ SERVING_THREADS: undefined }, log, 'linux')
  t.ok(count >= 1 && count <= 8, 'as many as there are cores')
})

const countExtras = (meta: unknown) => new Set(JSON.stringify(meta).match(/extra\d+/g)).size

t.test('three threads', async (t) => {
  const threads = await startThreads(t)
  t.test('whichever thread answers: own writes are seen, one winner per version, one order of changes', async (t) => {
    const { all, client, url } = threads
    const send = (nth: number) => all[nth % all.length] as Send
    const stream = new AbortController()
    const events = await fetch(`${url}/ws/changes/stream`, {
      headers: { cookie: client.cookie as string },
      signal: stream.signal,
    })
    t.equal(events.headers.get('content-type'), 'text/event-stream')

    const { body } = await send(0)('PUT', NOTES, { data: { n: 0 } })
    const { id } = body.data[0]
    for (let version = 0; version < 100; version++) {
      const written = await send(version * 7)('POST', `${NOTES}/${id}`, { data: { version, n: version + 1 } })
      t.equal(written.status, 200)
      const read = await send(version * 11 + 3)('GET', `${NOTES}/${id}`)
      t.equal(read.body.data[0].version, version + 1, 'on another connection too')
    }

    const outcomes = await Promise.all(
      all.map((send, nth) => send('POST', `${NOTES}/${id}`, { data: { version: 100, n: 1000 + nth } })),
    )
    const winners = outcomes.filter(({ status }) => status === 200)
    t.equal(winners.length, 1)
    t.equal(outcomes.filter(({ status }) => status === 409).length, all.length - 1)

    const created = await Promise.all(all.map((send, nth) => send('PUT', NOTES, { data: { n: 5000 + nth } })))
    t.equal(new Set(created.map(({ body }) => body.data[0].id)).size, all.length)
    const found = await Promise.all(all.map((send) => send('GET', `${NOTES}?n[gte]=5000&limit=1`)))
    t.ok(
      found.every(({ body }) => body.total === all.length),
      'searches run in the main thread, for all',
    )

    let told = ''
    const last = `"change":${1 + 100 + 1 + all.length},`
    for await (const chunk of events.body as ReadableStream<Uint8Array>) {
      told += Buffer.from(chunk).toString()
      if (told.includes(last)) break
    }
    const changes = [...told.matchAll(/"change":(\d+),/g)].map(([, number]) => Number(number))
    t.strictSame(
      changes,
      Array.from({ length: 1 + 100 + 1 + all.length }, (_, index) => index + 1),
    )
    stream.abort()
  })

  t.test('what concerns the whole process is the same in every thread', async (t) => {
    const { all, client, url, login, lines } = threads
    t.ok(lines.some((line) => line.includes(`${THREADS} threads serve requests`)))

    await client.send('PUT', '/ws/users', { data: { username: 'bob', password: PASSWORD, roles: [] } })
    const bob = await login('bob')
    const asBob = connections(t, url, bob)
    const statuses = async (send: Send[]) => [
      ...new Set((await Promise.all(send.map((one) => one('GET', NOTES)))).map(({ status }) => status)),
    ]
    t.strictSame(await statuses(asBob), [200])
    await bob.get('/logout')
    t.strictSame(await statuses(asBob), [401], 'a session that has ended, has ended everywhere')

    const key = { 'idempotency-key': 'once' }
    const once = await Promise.all(all.map((send) => send('PUT', NOTES, { data: { n: 1 } }, key)))
    t.strictSame(
      [...new Set(once.map(({ status }) => status))].filter((status) => ![200, 409].includes(status)),
      [],
    )
    t.equal((await client.get(`${NOTES}?n=1`)).body.total, 1)

    const before = readsIn(await scrape(url))
    for (const send of all) await send('GET', `${NOTES}/1?fields=n`)
    const text = await scrape(url)
    t.equal(readsIn(text) - before, all.length, 'one scrape has the requests of all threads')
    t.match(text, /process_start_time_seconds \d+/)

    const answered = lines
      .map((line) => JSON.parse(line))
      .filter(({ url, msg }) => url === `${NOTES}/1?fields=n` && msg === 'answered')
    t.equal(answered.length, all.length, 'and so has the log')
    t.ok(answered.every(({ ip }) => ip === '127.0.0.1'))
  })

  t.test('forwarded requests: any method, any body, any end', async (t) => {
    const { all, client, url, lines } = threads
    const each = async (...given: Parameters<Send>) => {
      const got = await Promise.all(all.map((send) => send(...given)))
      return [...new Set(got.map(({ status }) => status))]
    }
    t.strictSame(await each('GET', '/health'), [200])
    t.strictSame(await each('HEAD', '/health'), [200])
    t.strictSame(await each('GET', '/'), [200])
    t.strictSame(await each('OPTIONS', NOTES), [204])
    t.strictSame(await each('POST', '/ws/batch'), [400], 'without a body')
    t.strictSame(await each('DELETE', '/ws/nothing', { x: 1 }), [404])
    t.strictSame(await each('GET', '/ws/nothing', undefined, { connection: 'close' }), [404])
    t.strictSame(await each('PUT', NOTES, { data: { n: 7, text: 'x'.repeat(100_000) } }), [200])
    t.strictSame(await each('PUT', NOTES, { data: { n: 7, text: 'x'.repeat(2_000_000) } }).catch(() => ['cut']), [413])
    const rows = Array.from({ length: 500 }, (_, n) => JSON.stringify({ n })).join('\n')
    const sent = {
      method: 'POST',
      headers: { cookie: client.cookie as string, 'content-type': 'application/x-ndjson' },
    }
    const imported = await fetch(`${url}${NOTES}/import?format=ndjson`, {
      ...sent,
      body: new Blob([rows]).stream(),
      duplex: 'half',
    } as RequestInit)
    t.equal(imported.status, 200)
    const { total } = (await client.get(`${NOTES}?limit=1`)).body
    for (const send of all.slice(0, 10)) {
      const exported = await send('GET', `${NOTES}/export?format=ndjson&fields=n`)
      t.equal(exported.body.trim().split('\n').length, total)
    }

    // What no client library sends.
    const firstLine = (text: string) =>
      new Promise<string>((resolve) => {
        const socket = connect(Number(new URL(url).port), '127.0.0.1')
        socket.once('data', (chunk) => {
          resolve(String(chunk).split('\r\n', 1)[0] as string)
          socket.destroy()
        })
        socket.write(`${text}\r\n\r\n`)
      })
    const large = `PUT ${NOTES} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2000000`
    const unusual = [
      [`POST /ws/batch HTTP/1.1\r\nHost: x\r\nCookie: ${client.cookie}`, 'HTTP/1.1 400 Bad Request'],
      [`${large}\r\nCookie: ${client.cookie}`, 'HTTP/1.1 413 Payload Too Large'],
      [large, 'HTTP/1.1 401 Unauthorized'],
      ['GET /health HTTP/1.1\r\nHost: x\r\nTrailer: a', 'HTTP/1.1 200 OK'],
      ['GET /health HTTP/1.1\r\nHost: x\r\nTE: trailers', 'HTTP/1.1 200 OK'],
      ['GET /health HTTP/1.0', 'HTTP/1.1 200 OK'],
    ] as const
    for (const [text, expected] of unusual)
      t.strictSame([...new Set(await Promise.all(all.map(() => firstLine(text))))], [expected], text)

    // Clients that leave in the middle: everybody else goes on.
    const { hostname, port } = new URL(url)
    const leave = (text: string) =>
      new Promise<void>((resolve) => {
        const socket = connect(Number(port), hostname)
        socket.on('error', () => {})
        socket.once('close', () => resolve())
        socket.write(text, () => setTimeout(() => socket.destroy(), 20))
      })
    const head = (line: string) => `${line} HTTP/1.1\r\nHost: x\r\nCookie: ${client.cookie}\r\n`
    await Promise.all(
      Array.from({ length: CONNECTIONS }, (_, nth) =>
        leave(
          nth % 2
            ? `${head(`POST ${NOTES}/import?format=ndjson`)}Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n7\r\n{"n":1}`
            : `${head('GET /ws/changes/stream')}\r\n`,
        ),
      ),
    )
    t.strictSame(await each('GET', '/health'), [200])
    t.strictSame(
      lines.filter((line) => /unexpected|died/.test(line)),
      [],
    )
  })

  t.test('a body that is refused closes the connection, whichever thread has it', async (t) => {
    const body = { username: 'x', password: 'y'.repeat(10_000) }
    const answers = await Promise.all(threads.all.map((send) => send('POST', '/callback', body)))
    for (const { status, headers } of answers) t.match({ status, ...headers }, { status: 413, connection: 'close' })
  })

  t.test(
    'a model changes in all threads; no request fails, and none sees the old model after the new one',
    async (t) => {
      const { all, folder, service, client } = threads
      await client.put(NOTES, { n: 1, text: 'one' })
      let isOver = false
      const seen = await Promise.all([
        ...all.slice(0, 8).map(async (send) => {
          const versions: number[] = []
          const failures: Got[] = []
          for (let n = 0; !isOver; n++) {
            const got = await send('GET', n % 3 ? `${NOTES}/1` : `${NOTES}?limit=1&fields=id`)
            if (got.status !== 200) failures.push(got)
            if (n % 3) versions.push(Object.keys(got.body.data[0]).filter((name) => name.startsWith('extra')).length)
            const meta = await send('GET', '/ws/meta/fields/a.Note')
            if (meta.status !== 200) failures.push(meta)
            versions.push(countExtras(meta.body))
            const written = await send('PUT', NOTES, { data: { n } })
            if (written.status !== 200) failures.push(written)
          }
          return { versions, failures }
        }),
        (async () => {
          for (let edit = 1; edit <= 4; edit++) {
            const extras = Object.fromEntries(Array.from({ length: edit }, (_, i) => [`extra${i}`, { type: 'string' }]))
            writeModel(folder, 'a.Note.json', { ...NOTE, properties: { ...NOTE.properties, ...extras } })
            await service.reload()
          }
          isOver = true
          return { versions: [], failures: [] }
        })(),
      ])
      t.strictSame(
        seen.flatMap(({ failures }) => failures.map(({ status, body }) => ({ status, body }))),
        [],
      )
      for (const { versions } of seen)
        t.strictSame(
          versions,
          [...versions].sort((a, b) => a - b),
          'never back',
        )
      // The text of the first record is not a number.
      writeModel(folder, 'a.Note.json', { ...NOTE, properties: { ...NOTE.properties, text: { type: 'integer' } } })
      await service.reload()
      const answers = await Promise.all(all.map((send) => send('PUT', NOTES, { data: { text: 'x' } })))
      t.ok(
        answers.every(({ status }) => status === 200),
        'a change that is refused changes no thread',
      )
    },
  )
})

t.test('a thread that dies is replaced, and nothing that was answered is lost', async (t) => {
  const { result, workers } = await workersOf(() => startThreads(t))
  const { all, client, lines, url } = result
  t.equal(workers.size, THREADS - 1)
  const acknowledged: number[] = []
  let isOver = false
  t.teardown(() => {
    isOver = true
  })
  const writing = all.map(async (send, nth) => {
    for (let n = 0; !isOver; n++) {
      const answer = await send('PUT', NOTES, { data: { n: nth * 100_000 + n } }).catch(() => undefined)
      if (answer?.status === 200) acknowledged.push(answer.body.data[0].n)
    }
  })
  const [first, second] = [...workers] as [Worker, Worker]
  const { workers: next } = await workersOf(async () => {
    const endless = 'with recursive n(i) as (select 1 union all select i + 1 from n where dossier_alive())'
    const sql = `${endless} select count(*) from n`
    const options = { username: 'bob', seconds: 60, bytes: 1000, shapes: {} }
    const search = { id: 1e9, do: 'search', statement: { sql, parameters: [] }, options }
    // As if the thread had sent it: a search that is ended with the thread, and the end of one that has ended.
    second.emit('message', JSON.stringify(search))
    second.emit('message', JSON.stringify({ ...search, id: 1e9 + 1 }))
    for (const id of [1e9 + 1, 1e9 + 2]) second.emit('message', JSON.stringify({ do: 'cancel', search: id }))
    first.postMessage('this is no message')
    second.postMessage('neither is this')
    while (!lines.some((line) => line.includes('is not valid JSON'))) await new Promise(setImmediate)
    while (lines.filter((line) => line.includes('another one is started')).length < 2) await new Promise(setImmediate)
    for (;;) {
      if ((await scrape(url).catch(String)).includes('dossier_serving_threads 3')) break
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  })
  isOver = true
  await Promise.all(writing)
  t.equal(next.size, 2)
  const stored = new Set<number>()
  for (let after = ''; ; ) {
    const { body } = await client.get(`${NOTES}?limit=500&fields=n${after}`)
    for (const { n } of body.data) stored.add(n)
    if (!body.next) break
    after = `&after=${body.next}`
  }
  t.strictSame(
    acknowledged.filter((n) => !stored.has(n)),
    [],
  )
  t.ok(acknowledged.length > 0)
  const again = connections(t, url, client)
  const answers = await Promise.all(again.map((send) => send('GET', `${NOTES}?limit=1`)))
  t.ok(answers.every(({ status }) => status === 200))
})

t.test('a stop lets all threads finish what they have begun', async (t) => {
  const { all, close } = await startThreads(t)
  await Promise.all(all.map((send) => send('GET', NOTES)))
  const writes = all.map((send, n) => send('PUT', NOTES, { data: { n } }).catch((error) => error.code))
  await Promise.all([close(), ...writes])
  const outcomes = await Promise.all(writes)
  for (const outcome of outcomes)
    if (typeof outcome === 'string') t.match(outcome, /ECONN/, 'not taken up')
    else t.equal(outcome.status, 200)
})

t.test('a port that another program has is not shared with it', async (t) => {
  const { url } = await startApp(t)
  await t.rejects(requireFreePort('127.0.0.1', Number(new URL(url).port)), { message: /is taken by another program/ })
  await requireFreePort('127.0.0.1', 0)
})

/** Serving threads without a service, and what they report. */
async function bareThreads(t: Test, { reads, onChange = () => {} }: { reads?: object; onChange?: () => void } = {}) {
  const folder = emptyFolder(t)
  const storage = await testStorage(t, folder)
  // The app of the main thread has created it.
  await storage.signingKey()
  const log = logSink()
  const config = configOf(folder, { LOG_LEVEL: 'info' })
  const logger = createLogger(config, false, log.stream)
  const errors: Error[] = []
  const metrics = new Metrics()
  const threads = new ServingThreads(
    reads ? Object.assign(Object.create(storage), { threadReadsStart: reads }) : storage,
    {
      config,
      logger,
      models: () => [],
      adopt: (socket) => socket.destroy(),
      metrics,
      damage: new Damage(logger),
      onError: (error) => errors.push(error as Error),
      canWaitForNextApp: false,
      onWaitForNextApp: () => {},
      whileUnchanged: async (work) => {
        onChange()
        await work()
        all.starts++
      },
    },
  )
  t.teardown(() => threads.stop(1))
  const all = { threads, errors, storage, metrics, lines: log.lines, starts: 0 }
  return all
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 10))
}

t.test('a thread that cannot start, or cannot follow a change, is replaced', async (t) => {
  const url = 'http://127.0.0.1:0'
  const missing = { file: '/nowhere/dossier.db', commits: new Int32Array(new SharedArrayBuffer(4)) }
  const broken = await bareThreads(t, { reads: missing })
  await broken.threads.start(1, url)
  t.equal(broken.errors.length, 1)
  await until(() => broken.errors.length > 1)
  await broken.threads.stop(1)
  t.ok(broken.lines.some((line) => line.includes('a serving thread has died, and another one is started')))

  let swaps = 1
  const working = await bareThreads(t, {
    onChange: () => {
      if (swaps-- > 0) working.threads.swap()
    },
  })
  const { workers } = await workersOf(() => working.threads.start(1, url))
  t.strictSame(working.errors, [], 'models that changed while it started are prepared again')
  t.match(await working.metrics.others(), [[]])
  for (const worker of workers) worker.postMessage('this is no message')
  t.strictSame(await working.metrics.others(), [], 'a thread that dies has no metrics')
  const { workers: next } = await workersOf(() => until(() => working.starts > 1))
  t.equal(next.size, 1)
  await working.threads.prepare([{} as Model])
  await until(() => working.lines.some((line) => line.includes('another one is started')))
  t.ok(
    working.lines.some((line) => line.includes('Cannot read properties')),
    'the reason is logged',
  )

  working.threads.release()

  const late = await bareThreads(t, { onChange: () => void late.threads.stop(1) })
  await late.threads.start(1, url)
  t.strictSame(late.errors, [], 'a stop ends a thread that is about to listen')

  const stopped = await bareThreads(t)
  const starting = stopped.threads.start(2, url)
  await new Promise(setImmediate)
  await stopped.threads.stop(1)
  await starting
  t.strictSame(stopped.errors, [])
})

t.test('what a thread asks of the main thread', async (t) => {
  const { storage } = await bareThreads(t)
  const sent: ({ id: number } & StorageRequest)[] = []
  const cancelled: number[] = []
  const main = new RemoteCalls<StorageRequest>((message) => sent.push(message))
  const reads = await openThreadReads(storage.threadReadsStart as Parameters<typeof openThreadReads>[0])
  const thread = new ThreadStorage(reads, main, (search) => cancelled.push(search))
  t.teardown(() => thread.close())
  const statement: Statement = { sql: 'select 1', parameters: [] }

  const options = { username: 'bob', seconds: 1, bytes: 1000, shapes: {} }
  const leaving = new AbortController()
  const first = thread.search(statement, { ...options, signal: leaving.signal })
  leaving.abort()
  const second = thread.search(statement, { ...options, signal: leaving.signal })
  const third = thread.search(statement, options)
  t.strictSame(cancelled, [1, 2], 'a client that has left needs no search')
  main.resolveCall({ id: 1, done: { rows: [] } })
  main.resolveCall({ id: 1, done: { rows: [] } })
  t.strictSame(await first, { rows: [] })

  await thread.refreshShapes()
  t.strictSame(await thread.db.selectFrom('dossier_users').selectAll().execute(), [])
  t.ok(await thread.needsScan({ sql: 'select * from dossier_users', parameters: [] }, 'dossier_users'))
  t.throws(() => thread.stats(), /Only the main thread/)
  const unit = thread.db.updateTable('dossier_users').set({ username: 'x' }).execute()
  await until(() => sent.at(-1)?.do === 'write')
  t.match(sent.at(-1), { do: 'write', unit: { steps: [{ sql: /^update/ }] } })
  main.resolveCall({ id: sent.at(-1)?.id as number, done: [[]] })
  await unit

  main.fail(new Error('The main thread is gone.'))
  await t.rejects(second, /is gone/)
  await t.rejects(third, /is gone/)
  await t.rejects(thread.search(statement, options), /is gone/, 'nobody waits for a thread that is gone')
})

t.test('orders to swap are carried out before the next request', async (t) => {
  const { port1, port2 } = new MessageChannel()
  t.teardown(() => port1.close())
  const swapCounter = new Int32Array(1)
  const got: string[] = []
  const follower = new SwapFollower(port2, swapCounter, 0, (message) => got.push(message))
  port1.postMessage('swap')
  follower.follow()
  t.strictSame(got, [], 'nothing is looked for as long as the models are the same')
  swapCounter[0] = 1
  follower.follow()
  t.strictSame(got, ['swap'])
})

t.test('which requests a thread answers itself', async (t) => {
  const cases: [boolean, string, string, Record<string, string>][] = [
    [true, 'GET', NOTES, {}],
    [true, 'GET', `${NOTES}?n=1`, {}],
    [true, 'GET', `${NOTES}/1?fields=n`, {}],
    [true, 'PUT', NOTES, { 'content-length': '10' }],
    [true, 'POST', `${NOTES}/search`, { 'content-length': '10' }],
    [true, 'DELETE', `${NOTES}/1`, {}],
    [false, 'GET', `${NOTES}/1?version=3`, {}],
    [false, 'GET', `${NOTES}/1?%76ersion=3`, {}],
    [true, 'GET', `${NOTES}?text=%41`, {}],
    [true, 'GET', `${NOTES}?n=1&text%5Blike%5d=a`, {}],
    [false, 'GET', `${NOTES}/1?fields=n&vers%69on=3`, {}],
    [false, 'GET', `${NOTES}/1/history`, {}],
    [false, 'GET', `${NOTES}/export`, {}],
    [false, 'GET', `${NOTES}/deleted`, {}],
    [false, 'GET', '/ws/rest/', {}],
    [false, 'GET', '/ws/changes/stream', {}],
    [false, 'HEAD', NOTES, {}],
    [false, 'OPTIONS', NOTES, {}],
    [false, 'PUT', NOTES, { 'content-length': '10', 'idempotency-key': 'a' }],
    [false, 'PUT', NOTES, { 'content-length': '10000000' }],
    [false, 'PUT', NOTES, { 'transfer-encoding': 'chunked' }],
    [false, 'PUT', NOTES, { 'content-length': '10', 'content-encoding': 'gzip' }],
    [false, 'POST', NOTES, { 'content-length': '10' }],
    [true, 'POST', `${NOTES}/1`, { 'content-length': '10' }],
  ]
  for (const [expected, method, url, headers] of cases)
    t.equal(isServedHere({ method, url, headers }), expected, `${method} ${url} ${JSON.stringify(headers)}`)
})

t.test('only serving threads reach the listener for forwarded requests', async (t) => {
  const adopted: { address: string | undefined; text: string }[] = []
  const { address, server } = await listenForForwarded((socket) => {
    adopted.push({ address: socket.remoteAddress, text: String(socket.read()) })
    socket.end()
  })
  t.teardown(() => server.close())
  const greeting = `${JSON.stringify({ secret: address.secret, address: '192.0.2.1' })}\n`
  const texts = [
    ['hello\n'],
    ['"hello"\n'],
    ['null\n'],
    ['x'.repeat(600)],
    [`${JSON.stringify({ secret: 'wrong', address: '192.0.2.1' })}\n`],
    [greeting.slice(0, 10), `${greeting.slice(10)}GET`],
  ]
  for (const parts of texts) {
    const socket = connect(address.path)
    socket.on('error', () => {})
    const closed = new Promise((resolve) => socket.once('close', resolve))
    for (const part of parts) await new Promise((resolve) => socket.write(part, () => setTimeout(resolve, 20)))
    socket.resume()
    await closed
  }
  t.strictSame(adopted, [{ address: '192.0.2.1', text: 'GET' }])
})

t.test('a request that cannot be sent on is refused, and ends no thread', async (t) => {
  let isShed = 0
  const events = { beforeAnswer: () => {}, onShed: () => isShed++ }
  let path = '\0dossier-nobody'
  const server = createHttpServer((request, response) => {
    if (request.url === '/bad') request.url = '/not sent'
    forward({ path, secret: '' }, request, response, events)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const answer = await fetch(`${url}/bad`)
  t.equal(answer.status, 400)
  t.match(await answer.json(), { status: -1, code: 'BAD_REQUEST', message: /path/ })
  t.equal(isShed, 0)
  // Nobody accepts it.
  const refused = await fetch(`${url}/good`, { method: 'POST', body: 'x' })
  t.equal(refused.status, 503)
  t.match(await refused.json(), { code: 'UNAVAILABLE', message: /service is overloaded/ })
  t.equal(isShed, 1)
  // It was accepted, and nobody knows what became of it.
  const main = await listenForForwarded((socket) => socket.destroy())
  t.teardown(() => main.server.close())
  path = main.address.path
  await t.rejects(fetch(`${url}/good`))
  t.equal(isShed, 1)
})
