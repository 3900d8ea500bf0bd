import { get } from 'node:http'
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { acceptsGzip } from '../../src/requests/accept-encoding.ts'
import type { Client } from '../client.ts'
import { startApp } from '../helper.ts'

const NOTES = '/ws/rest/a.Note'
const MODELS = { 'a.Note.json': { type: 'object', properties: { text: { type: 'string' } }, list: ['text'] } }

/** The answer as it comes over the wire; `fetch` would decompress it. */
const raw = ({ url, cookie }: Client, path: string, encoding?: string, method = 'GET') =>
  new Promise<{ status: number | undefined; headers: Record<string, unknown>; bytes: Buffer }>((resolve, reject) => {
    const headers = { cookie: String(cookie), ...(encoding !== undefined && { 'accept-encoding': encoding }) }
    get(url + path, { headers, method }, (answer) => {
      const chunks: Buffer[] = []
      answer.on('data', (chunk) => chunks.push(chunk))
      answer.once('end', () =>
        resolve({ status: answer.statusCode, headers: answer.headers, bytes: Buffer.concat(chunks) }),
      )
    }).once('error', reject)
  })

t.test('who accepts gzip', async (t) => {
  for (const header of ['gzip', 'br, gzip', 'GZIP;q=0.5', '*', 'deflate, *;q=0.1', 'gzip;q=1, *;q=0'])
    t.equal(acceptsGzip(header), true, header)
  for (const header of [undefined, '', 'br', 'identity', 'gzip;q=0', 'gzip;q=0.000, *', '*;q=0', 'x-gzip'])
    t.equal(acceptsGzip(header), false, String(header))
})

t.test('long answers are compressed for clients that accept it', async (t) => {
  const app = await startApp(t, { models: MODELS })
  const admin = await app.login()
  await admin.put(NOTES, { text: 'short' })
  for (let n = 0; n < 20; n++) await admin.put(NOTES, { text: `note ${n} ${'long '.repeat(50)}` })

  for (const [path, type] of [
    [`${NOTES}?limit=40`, 'application/json; charset=utf-8'],
    [`${NOTES}/export?format=csv`, 'text/csv; charset=utf-8; header=present'],
    [`${NOTES}/export?format=ndjson`, 'application/x-ndjson; charset=utf-8'],
  ] as const) {
    const plain = await raw(admin, path)
    t.match(plain.headers, { 'content-type': type, vary: 'accept-encoding' }, path)
    t.notOk(plain.headers['content-encoding'])
    const zipped = await raw(admin, path, 'gzip')
    t.match(zipped.headers, { 'content-type': type, vary: 'accept-encoding', 'content-encoding': 'gzip' })
    t.ok(zipped.bytes.length < plain.bytes.length / 3, `${zipped.bytes.length} of ${plain.bytes.length} bytes`)
    t.equal(String(gunzipSync(zipped.bytes)), String(plain.bytes))
  }

  for (const path of [`${NOTES}/1`, '/health', '/']) {
    const { headers } = await raw(admin, path, 'gzip')
    t.notOk(headers['content-encoding'], `${path} is short, or no answer of the API`)
  }
  const { headers, bytes } = await raw(admin, `${NOTES}?limit=40`, 'gzip', 'HEAD')
  t.equal(bytes.length, 0)
  t.notOk(headers['content-encoding'], 'nothing to compress')
})

t.test('COMPRESS=false leaves it to a proxy', async (t) => {
  const app = await startApp(t, { models: MODELS, env: { COMPRESS: 'false' } })
  const admin = await app.login()
  await admin.put(NOTES, { text: 'long '.repeat(500) })
  const { headers } = await raw(admin, `${NOTES}/1`, 'gzip')
  t.notOk(headers['content-encoding'])
  t.notOk(headers.vary)
})

t.test('an export ends with its client, compressed or not', async (t) => {
  const app = await startApp(t, { models: MODELS })
  const admin = await app.login()
  const lines = ['text', ...Array.from({ length: 20_000 }, (_, n) => `${n} ${Math.random()} ${'x'.repeat(200)}`)]
  await admin.send('POST', `${NOTES}/import`, lines.join('\n'), { 'content-type': 'text/csv' })
  // A user may have two exports at once: a third one is only possible if the earlier ones have ended.
  for (let n = 0; n < 3; n++) {
    await new Promise<void>((resolve) => {
      const headers = { cookie: String(admin.cookie), 'accept-encoding': 'gzip' }
      const request = get(`${app.url}${NOTES}/export`, { headers }, (answer) => {
        answer.once('data', () => request.destroy())
        answer.once('close', resolve)
      })
    })
    let status: number | undefined
    while (status !== 200) ({ status } = await raw(admin, `${NOTES}/export?text=none`))
    t.equal(status, 200)
  }
})
