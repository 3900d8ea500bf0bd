import { connect } from 'node:net'
import Sqlite from 'better-sqlite3'
import { sql } from 'kysely'
import t from 'tap'
import { databaseFile } from '../../src/storage/sqlite/connections.ts'
import { Client } from '../client.ts'
import { sqliteOnly } from '../engine.ts'
import { logSink, startApp } from '../helper.ts'

t.test('anything unexpected is logged in full, and the client sees nothing of it', sqliteOnly, async (t) => {
  const { lines, stream } = logSink()
  const service = await startApp(t, { log: stream, env: { LOG_LEVEL: 'info' } })
  const client = await service.login()
  await sql`CREATE TRIGGER broken BEFORE INSERT ON contacts__Contact BEGIN SELECT RAISE(FAIL, 'secret detail'); END`.execute(
    service.db,
  )
  const { status, body, text } = await client.put('/ws/rest/contacts.Contact', { firstName: 'y' })
  t.equal(status, 500)
  t.match(body, { status: -1, code: 'INTERNAL', requestId: String })
  t.notMatch(text, /secret detail|contacts__|\.ts/)
  const line = lines.find((entry) => entry.includes(body.requestId) && entry.includes('"level":50'))
  t.match(line, /secret detail.*stack/)
  // If another process has changed the tables meanwhile, that may be the cause.
  service.storage.shape = () => 'another shape'
  const behind = await client.put('/ws/rest/contacts.Contact', { firstName: 'y' })
  t.equal(behind.status, 503)
  t.match(behind.body.message, /models are being changed/)
})

t.test('a full disk is 507, changes nothing, and reading goes on', sqliteOnly, async (t) => {
  const service = await startApp(t)
  const client = await service.login()
  await sql`PRAGMA max_page_count = 1`.execute(service.db)
  const answer = await client.put('/ws/rest/contacts.Contact', { firstName: 'x', lastName: 'y'.repeat(500_000) })
  t.equal(answer.status, 507)
  t.match(answer.body, { status: -1, code: 'STORAGE_FULL' })
  t.equal((await client.get('/ws/rest/contacts.Contact')).body.total, 0)
  await sql`PRAGMA max_page_count = 1000000`.execute(service.db)
  t.equal(
    (await client.put('/ws/rest/contacts.Contact', { firstName: 'x' })).status,
    200,
    'with room again, without a restart',
  )
})

t.test('who leaves in the middle of a body is no error of ours', async (t) => {
  const { lines, stream } = logSink()
  const service = await startApp(t, { log: stream, env: { LOG_LEVEL: 'info' } })
  const client = await service.login()
  const { port } = new URL(service.url)
  const socket = connect(Number(port), '127.0.0.1')
  socket.write(
    `PUT /ws/rest/contacts.Contact HTTP/1.1\r\nHost: x\r\nCookie: ${client.cookie}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"data"`,
  )
  await new Promise((resolve) => setTimeout(resolve, 100))
  socket.resetAndDestroy()
  await new Promise((resolve) => setTimeout(resolve, 100))
  t.notOk(lines.some((line) => line.includes('"level":50')))
  t.equal((await client.get('/ws/rest/contacts.Contact')).body.total, 0)
})

t.test('health needs no session', async (t) => {
  const { url } = await startApp(t)
  const answer = await new Client(url).get('/health')
  t.strictSame(answer.body, { status: 0, data: [{ live: true, ready: true, models: { current: true } }] })
  t.equal((await new Client(url).send('POST', '/health', {})).body.code, 'LOGIN_REQUIRED')
})

t.test('an unknown path and a known one with another method', async (t) => {
  const service = await startApp(t)
  const client = await service.login()
  t.match((await client.get('/nowhere')).body, { code: 'ROUTE_NOT_FOUND' })
  for (const visitor of [client, service.stranger]) {
    const headers = { accept: 'text/html,*/*', cookie: visitor.cookie ?? '' }
    const visit = await fetch(`${service.url}/nowhere`, { headers })
    t.match(visit.headers.get('content-type'), 'text/html', 'whoever types an address gets words')
    t.match(await visit.text(), 'There is nothing at this address')
  }
  t.match((await client.send('POST', '/nowhere', '{broken')).body, { code: 'ROUTE_NOT_FOUND' }, 'whatever the body')
  t.match((await client.send('PUT', '/ws/rest/contacts.Contact/1', '')).body, { code: 'METHOD_NOT_ALLOWED' })
  const wrong = await client.send('DELETE', '/callback')
  t.match(wrong.body, { code: 'METHOD_NOT_ALLOWED', message: /POST/ })
  t.equal(wrong.headers.get('allow'), 'OPTIONS, POST')
})

t.test('a database that another process keeps for itself is 503, and later all is well', sqliteOnly, async (t) => {
  const { stream } = logSink()
  const service = await startApp(t, { log: stream })
  const client = await service.login()
  await sql`PRAGMA busy_timeout = 20`.execute(service.db)
  const other = new Sqlite(databaseFile(service.config.DATA_DIR))
  t.teardown(() => other.close())
  other.exec('BEGIN IMMEDIATE')
  const refused = await client.put('/ws/rest/contacts.Contact', { firstName: 'y' })
  t.equal(refused.status, 503)
  t.match(refused.body, { code: 'UNAVAILABLE', message: /somebody else/ })
  t.equal(refused.headers.get('retry-after'), '1')
  other.exec('ROLLBACK')
  t.equal((await client.put('/ws/rest/contacts.Contact', { firstName: 'y' })).status, 200)
})

t.test('a database that cannot even tell its shapes: the answer is shaped all the same', sqliteOnly, async (t) => {
  const service = await startApp(t)
  const client = await service.login()
  Object.assign(service.storage, {
    shape: () => {
      throw new Error('secret detail')
    },
  })
  const { status, body, text } = await client.get('/ws/rest/contacts.Contact/1')
  t.equal(status, 500)
  t.match(body, { code: 'INTERNAL', requestId: String })
  t.notMatch(text, /secret detail/)
})
