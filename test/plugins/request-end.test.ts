import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { Client } from '../client.ts'
import { logSink, startApp } from '../helper.ts'

const ITEM = { type: 'object', properties: { name: { type: 'string', unique: true } } }
const ITEMS = '/ws/rest/a.Item'

/** Sends a whole request, and leaves without an answer. */
async function sendAndLeave(client: Client, method: string, path: string, data: unknown, headers = {}): Promise<void> {
  const { hostname, port } = new URL(client.url)
  const body = JSON.stringify({ data })
  const socket = connect(Number(port), hostname)
  const head = Object.entries({
    host: 'x',
    cookie: client.cookie as string,
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    ...headers,
  }).map(([name, value]) => `${name}: ${value}`)
  socket.write(`${method} ${path} HTTP/1.1\r\n${head.join('\r\n')}\r\n\r\n${body}`)
  await new Promise<void>((resolve) => socket.end(() => resolve()))
  socket.resetAndDestroy()
}

t.test('a client that leaves before it is answered', async (t) => {
  const { lines, stream } = logSink()
  const app = await startApp(t, { models: { 'a.Item.json': ITEM }, log: stream, env: { LOG_LEVEL: 'info' } })
  const admin = await app.login()

  await t.test('its key is free again, and what it sends again gets the first answer', async (t) => {
    for (let round = 0; round < 20; round++) {
      const key = { 'idempotency-key': `left ${round}` }
      const name = `item ${round}`
      await sendAndLeave(admin, 'PUT', ITEMS, { name }, key)
      // Whether the first request was read before its client left is not known: one of the two is carried out.
      const repeat = () => admin.send('PUT', ITEMS, { data: { name } }, key)
      let again = await repeat()
      // The first request may still be under way.
      for (; again.body.code === 'KEY_IN_USE'; again = await repeat()) await sleep(20)
      t.equal(again.status, 200, again.text)
      t.match(again.body.data, [{ name, version: 0 }])
      const { body } = await admin.get(`${ITEMS}?name=${encodeURIComponent(name)}`)
      t.equal(body.total, 1, 'it is done once')
    }
  })

  await t.test('it has a line in the log, and a number', async (t) => {
    const dropped = () => lines.filter((line) => line.includes('"dropped"'))
    const before = dropped().length
    const find = `${ITEMS}?name[like]=%25&limit=500&sort=-name`
    for (let tries = 0; dropped().length === before && tries < 200; tries++) {
      const { hostname, port } = new URL(admin.url)
      const socket = connect(Number(port), hostname)
      socket.write(`GET ${find} HTTP/1.1\r\nhost: x\r\ncookie: ${admin.cookie}\r\n\r\n`)
      await sleep(1)
      socket.resetAndDestroy()
      await sleep(20)
    }
    t.match(JSON.parse(dropped().at(-1) as string), { msg: 'dropped', method: 'GET', url: find })
    t.notOk('status' in JSON.parse(dropped().at(-1) as string), 'there was no status')
    const metrics = await fetch(`${admin.url}/metrics`, { headers: { cookie: admin.cookie as string } })
    const text = await metrics.text()
    t.match(text, /dossier_dropped_requests [1-9]/)
    t.match(text, /dossier_request_seconds_count\{method="GET",route="\/ws\/rest\/a.Item",status="499"\} [1-9]/)
  })

  await t.test('a stream that its client leaves was answered', async (t) => {
    const before = lines.length
    const leave = new AbortController()
    const stream = await fetch(`${admin.url}/ws/changes/stream`, {
      headers: { cookie: admin.cookie as string },
      signal: leave.signal,
    })
    t.equal(stream.status, 200)
    leave.abort()
    const ours = () => lines.slice(before).filter((line) => line.includes('/ws/changes/stream'))
    while (ours().length === 0) await sleep(5)
    t.match(JSON.parse(ours()[0] as string), { msg: 'answered', status: 200 })
  })
})
