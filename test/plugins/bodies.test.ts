import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { BodyLimits } from '../../src/http/body-limits.ts'
import type { Client } from '../client.ts'
import { startApp } from '../helper.ts'

const NOTE = { type: 'object', properties: { text: { type: 'string' } } }
const NOTES = '/ws/rest/a.Note'
const MODELS = { 'a.Note.json': NOTE }

t.test('a login is small', async (t) => {
  const { stranger } = await startApp(t, { models: MODELS })
  const login = (password: string) => stranger.send('POST', '/callback', { username: 'admin', password })
  t.match(await login('x'.repeat(8192)), { status: 413, body: { code: 'BODY_TOO_LARGE' } })
  t.match(await login('x'.repeat(8000)), { status: 401, body: { code: 'LOGIN_INCORRECT' } })
})

t.test('bodies are bounded in sum', async (t) => {
  const limits = new BodyLimits(1_048_576)
  const release = Array.from({ length: 256 }, () => limits.reserve('a', 65_536))
  t.throws(() => limits.reserve('a', 65_536), { code: 'UNAVAILABLE' })
  const others = ['b', 'c', 'd'].flatMap((name) => Array.from({ length: 256 }, () => limits.reserve(name, 65_536)))
  t.throws(() => limits.reserve('e', 1), { code: 'UNAVAILABLE' }, 'and of all together')
  release.pop()?.()
  limits.reserve('e', 1)()
  for (const one of [...release, ...others]) one()

  const dropped: number[] = []
  const strangers = Array.from({ length: 130 }, (_, n) => limits.registerStranger('x', () => void dropped.push(n)))
  t.strictSame(dropped, [0, 1], 'of strangers the oldest make place')
  for (const arrived of strangers) arrived()
  const many = Array.from({ length: 4098 }, (_, n) => limits.registerStranger(`x${n}`, () => void dropped.push(n)))
  t.strictSame(dropped.slice(2), [0, 1])
  for (const arrived of many) arrived()

  const mebibyte = 1_048_576
  const slow: string[] = []
  const large = await Promise.all(
    Array.from({ length: 64 }, (_, n) => limits.receive(`u${n % 16}`, mebibyte, () => void slow.push(`u${n}`))),
  )
  const next = limits.receive('other', mebibyte, () => {})
  t.strictSame(slow, [], 'who has just begun is not cut off')
  t.intercept(performance, 'now', { value: () => Number.MAX_SAFE_INTEGER })
  const last = limits.receive('another', mebibyte, () => {})
  t.strictSame(slow, ['u0'], 'who takes long is, when others wait')
  for (const arrived of large) arrived()
  for (const arrived of await Promise.all([next, last])) arrived()
  const huge = new BodyLimits(100_000_000)
  const one = await huge.receive('a', 100_000_000, () => {})
  one()
})

/** The head of a request, and as much of its body as is given. */
function begin(client: Client, length: number, sent = '', headers = ''): Socket {
  const { hostname, port } = new URL(client.url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  socket.write(
    `PUT ${NOTES} HTTP/1.1\r\nhost: x\r\ncookie: ${client.cookie}\r\ncontent-type: application/json\r\n${headers}content-length: ${length}\r\n\r\n${sent}`,
  )
  return socket
}

t.test('logins that are only promised keep nobody out', async (t) => {
  const app = await startApp(t, { models: MODELS })
  const { hostname, port } = new URL(app.url)
  const heads = ['content-length: 8192', 'transfer-encoding: chunked'].map(
    (length) => `POST /callback HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n${length}\r\n\r\n`,
  )
  const silent = Array.from({ length: 140 }, (_, n) => {
    const socket = connect(Number(port), hostname)
    socket.on('error', () => {})
    socket.write(heads[n % 2] as string)
    return socket
  })
  await Promise.all(silent.map((socket) => once(socket, 'connect')))
  await app.login()
  while (silent.filter(({ closed }) => closed).length < 12) await sleep(10)
  // Every second it is looked which requests take too long to arrive; these have not yet.
  await sleep(1200)
  await app.login()
  for (const socket of silent) socket.destroy()
})

t.test('large bodies', async (t) => {
  const app = await startApp(t, { models: MODELS })
  const admin = await app.login()
  const large = (name: string) => ({ text: name + 'x'.repeat(900_000) })

  await t.test('many of one user do not hold up what is small', async (t) => {
    await admin.put('/ws/users', { username: 'small' })
    const small = await app.login('small')
    let answered = 0
    const uploads = Array.from({ length: 20 }, async (_, n) => {
      const { status } = await admin.put(NOTES, large(String(n)))
      answered++
      return status
    })
    while (answered < 2) await sleep(1)
    t.equal((await small.put(NOTES, { text: 'little' })).status, 200)
    t.ok(answered < 20, `it did not wait for all of them (${answered} were answered before)`)
    t.strictSame([...new Set(await Promise.all(uploads))], [200])
  })

  await t.test('some that never arrive take no place from others, and none after they have gone', async (t) => {
    const other = await app.login()
    await admin.put('/ws/users', { username: 'slow' })
    const slow = await app.login('slow')
    const stalled = Array.from({ length: 10 }, () => begin(slow, 900_000, '{"data":{"text":"'))
    await Promise.all(stalled.map((socket) => once(socket, 'connect')))
    t.equal((await other.put(NOTES, large('other'))).status, 200)
    t.equal((await slow.put(NOTES, { text: 'small' })).status, 200)
    for (const socket of stalled) socket.destroy()
    t.equal((await slow.put(NOTES, large('slow'))).status, 200, 'and the slow user goes on')
  })

  await t.test('those whose answers nobody reads take no place either', async (t) => {
    await admin.put('/ws/users', { username: 'idle' })
    const idle = await app.login('idle')
    const body = JSON.stringify({ data: { text: 'y'.repeat(900_000) } })
    const unread = Array.from({ length: 6 }, () => begin(idle, body.length, body).pause())
    const total = async () => (await admin.get(`${NOTES}?createdBy=idle&limit=0`)).body.total
    while ((await total()) < 6) await sleep(50)
    t.equal((await admin.put(NOTES, large('read'))).status, 200)
    for (const socket of unread) socket.destroy()
  })

  await t.test('of unknown length, and what is too large', async (t) => {
    const body = JSON.stringify({ data: large('chunked') })
    const chunked = await fetch(admin.url + NOTES, {
      method: 'PUT',
      headers: { 'content-type': 'application/json', cookie: admin.cookie as string },
      body: new Blob([body]).stream(),
      duplex: 'half',
    } as RequestInit)
    t.equal(chunked.status, 200)
    t.equal((await admin.put(NOTES, { text: 'x'.repeat(1_100_000) })).body.code, 'BODY_TOO_LARGE')
    t.match(await admin.send('PUT', NOTES, `{"data":{"text":"${'\ud800'}${'x'.repeat(100_000)}"}}`), { status: 200 })
  })
})
