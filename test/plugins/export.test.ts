import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { HttpCaller } from '../../src/records/caller.ts'
import type { Chunk } from '../../src/storage/storage.ts'
import { PASSWORD, playScenarios } from '../client.ts'
import { type Running, startApp } from '../helper.ts'

const ITEM = {
  type: 'object',
  properties: {
    name: { type: 'string' },
    n: { type: 'integer' },
    ratio: { type: 'number' },
    done: { type: 'boolean' },
    tags: { type: 'array', items: { type: 'string' } },
    place: { type: 'object' },
    price: { type: 'string', format: 'decimal' },
    format: { type: 'string' },
    secret: { type: 'string', writeOnly: true },
    other: { type: 'integer', reference: 'a.Item' },
  },
  audit: false,
}
const OWN = {
  type: 'object',
  properties: { text: { type: 'string' } },
  access: { read: [{ role: '*', where: 'own' }], create: ['*'], update: ['*'], delete: ['*'] },
}
const PRIVATE = { ...OWN, access: { ...OWN.access, read: ['boss'] } }
const BIG = { type: 'object', history: false, properties: { text: { type: 'string' } } }
const MODELS = { 'a.Item.json': ITEM, 'a.Own.json': OWN, 'a.Private.json': PRIVATE, 'a.Big.json': BIG }
const EXPORT = '/ws/rest/a.Item/export'

/** What somebody gets, as it is. */
async function textAt({ url }: Running, cookie: string | undefined, path: string) {
  const response = await fetch(url + path, { headers: { cookie: cookie as string } })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

t.test('export', async (t) => {
  const app = await startApp(t, { models: MODELS, env: { SHUTDOWN_SECONDS: '1' } })
  const admin = await app.login()
  await admin.put('/ws/users', { username: 'ann', password: PASSWORD, roles: [] })
  const ann = await app.login('ann')
  const get = async (query = '') => (await textAt(app, admin.cookie, EXPORT + query)).text
  await admin.put('/ws/rest/a.Item', {
    name: 'a "quoted", text\r\nof two lines',
    n: -5,
    ratio: 0.1,
    done: true,
    tags: ['x', 'y,z'],
    place: { city: 'Zürich' },
    price: '12.50',
    format: 'paper',
    secret: 'hidden',
  })
  await admin.put('/ws/rest/a.Item', { name: '', done: false, ratio: 1e21, other: 1 })
  await admin.put('/ws/rest/a.Item', { name: '=1+1', n: 3, price: '-1' })

  await t.test('as spreadsheets write it', async (t) => {
    const { status, headers, text } = await textAt(app, admin.cookie, EXPORT)
    t.equal(status, 200)
    t.equal(headers.get('content-type'), 'text/csv; charset=utf-8; header=present')
    t.equal(headers.get('content-disposition'), 'attachment; filename="a.Item.csv"')
    t.equal(
      text,
      [
        'id,version,name,n,ratio,done,tags,place,price,format,other',
        '1,0,"a ""quoted"", text\r\nof two lines",-5,0.1,true,"[""x"",""y,z""]","{""city"":""Zürich""}",12.50,paper,',
        '2,0,"",,1e+21,false,,,,,1',
        '3,0,=1+1,3,,,,,-1,,',
        '',
      ].join('\r\n'),
    )
    t.notMatch(text, 'hidden')
    const marked = await fetch(`${app.url}${EXPORT}?bom=true&fields=n&delimiter=semicolon`, {
      headers: { cookie: String(admin.cookie) },
    })
    t.strictSame([...new Uint8Array(await marked.arrayBuffer()).slice(0, 6)], [0xef, 0xbb, 0xbf, ...Buffer.from('id;')])
    const safe = await get('?safe=true&fields=n,name,price')
    t.match(safe, "3,0,3,'=1+1,-1\r\n", 'a decimal is no formula')
    t.match(safe, '1,0,-5,', 'a number is no formula')
    t.equal(await get('?delimiter=semicolon&fields=n&sort=-n'), 'id;version;n\r\n3;0;3\r\n1;0;-5\r\n2;0;\r\n')
    t.equal(
      await get('?decimal=comma&fields=n,price&delimiter=semicolon&n[gt]=0'),
      'id;version;n;price\r\n3;0;3;-1\r\n',
    )
    t.equal(await get('?delimiter=tab&fields=n&n[gt]=0'), 'id\tversion\tn\r\n3\t0\t3\r\n')
  })

  await t.test('lines of JSON', async (t) => {
    const lines = (await get('?format=ndjson')).trim().split('\n')
    t.strictSame(JSON.parse(lines[0] as string), (await admin.get('/ws/rest/a.Item/1')).body.data[0])
    t.equal(lines.length, 3)
  })

  await t.test('of just what is asked for', async (t) => {
    t.equal(await get('?fields=n&name[like]=QUOTED'), 'id,version,n\r\n1,0,-5\r\n')
    t.equal(await get('?fields=n&other.n=-5'), 'id,version,n\r\n2,0,\r\n', 'through references')
    t.equal(await get('?fields=n&format[in]=paper,rock'), 'id,version,n\r\n1,0,-5\r\n', 'a field of such a name')
    t.equal(await get('?fields=n&n=99'), 'id,version,n\r\n')
    t.equal(await get('?format=ndjson&n=99'), '')
  })

  await t.test('of what one may read', async (t) => {
    await admin.put('/ws/rest/a.Own', { text: 'of admin' })
    await ann.put('/ws/rest/a.Own', { text: 'of ann' })
    const mine = await textAt(app, ann.cookie, '/ws/rest/a.Own/export?fields=text')
    t.equal(mine.text, 'id,version,text\r\n2,0,of ann\r\n')
    const bad = { status: 400, code: 'BAD_REQUEST' }
    await playScenarios(t, ann, [
      { name: 'not readable', path: '/ws/rest/a.Private/export', status: 403, code: 'FORBIDDEN' },
      { name: 'odd format', path: `${EXPORT}?format=xls`, ...bad, has: ['one of csv, ndjson, xlsx'] },
      { name: 'odd delimiter', path: `${EXPORT}?delimiter=x`, ...bad, has: ['comma, semicolon or tab'] },
      { name: 'odd safe', path: `${EXPORT}?safe=yes`, ...bad, has: ['true or false'] },
      { name: 'a page', path: `${EXPORT}?limit=5`, ...bad, has: ['an export has all records'] },
      { name: 'expand', path: `${EXPORT}?expand=other`, ...bad, has: ['the ids of references'] },
      { name: 'odd filter', path: `${EXPORT}?nme=x`, ...bad, has: ['Did you mean'] },
      { name: 'a secret', path: `${EXPORT}?fields=secret`, ...bad },
      { name: 'format twice', path: `${EXPORT}?format=csv&format=csv`, ...bad },
    ])
    t.equal((await app.stranger.get(EXPORT)).status, 401)
  })

  const text = { module: new URL('../storage/row-formatters.ts', import.meta.url).href, name: 'numbers' }
  const seeker = { username: 'x', seconds: 60, bytes: 0, shapes: {} }
  const begin = (sql: string, more = {}, name = 'numbers') =>
    app.storage.streamRows({ sql, parameters: [] }, { ...text, name }, undefined, { ...seeker, ...more })
  const through = async (walk: AsyncGenerator<Chunk>, pause?: number) => {
    let rows = 0
    for await (const piece of walk) {
      rows += piece.rows
      if (pause) await sleep(pause)
    }
    return rows
  }
  const kindOf = (...[walk, pause]: Parameters<typeof through>) => through(walk, pause).catch(({ kind }) => kind)
  const endless = 'WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n) SELECT n FROM n'

  await t.test('what cannot be gone through', async (t) => {
    t.equal(await through(begin('SELECT 1 AS n UNION SELECT 2')), 2)
    t.equal(await kindOf(begin('SELECT * FROM nowhere')), 'missing-table')
    t.equal(await kindOf(begin('SELECT 1 AS n', { shapes: { a__Item: 'another' } })), 'stale')
    t.equal(await kindOf(begin(endless, { seconds: 0.2 })), 'slow')
    const left = AbortSignal.abort()
    for (const _ of [1, 2, 3])
      t.equal(await kindOf(begin(endless, { signal: left })), 'cancelled', 'and leaves no trace')
    const response = { closed: true } as ServerResponse
    t.equal(new HttpCaller({ username: 'x', roles: [] }, response).signal.aborted, true, 'who has gone already')
    t.equal(await kindOf(begin(endless, {}, 'dies')), 'busy')
  })

  /** More than the buffers of a connection hold: who does not read on holds up the export. */
  const ROWS = 3000
  const path = '/ws/rest/a.Big/export?fields=text'
  const request = (cookie: string | undefined) => {
    const socket = connect(Number(new URL(app.url).port), '127.0.0.1')
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nCookie: ${cookie}\r\nConnection: close\r\n\r\n`)
    return socket
  }
  const open = async (cookie = admin.cookie) => {
    const socket = request(cookie)
    await once(socket, 'readable')
    return socket
  }

  await t.test('one moment, whoever writes meanwhile; and who does not read on is not waited for', async (t) => {
    const fill = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${ROWS})
      INSERT INTO "a__Big" (text) SELECT ? FROM n`
    await app.storage.write({ steps: [{ sql: fill, parameters: ['a'.repeat(4000)] }] })
    const first = await open()
    for (let i = 0; i < 5; i++) await admin.put('/ws/rest/a.Big', { text: 'late' })
    const change = `UPDATE "a__Big" SET text = 'changed' WHERE id > ${ROWS - 100}`
    await app.storage.write({ steps: [{ sql: change, parameters: [] }] })
    const chunks: Buffer[] = []
    for await (const chunk of first) chunks.push(chunk)
    const whole = Buffer.concat(chunks).toString()
    t.notMatch(whole.slice(-5000), /late|changed/)
    t.equal(whole.match(/^\d+,0,a{4000}\r$/gm)?.length, ROWS)

    const held = [await open(), await open()]
    const more = await admin.get(path)
    t.match(more, { status: 503, body: { code: 'UNAVAILABLE' } }, 'two of one person are enough')
    for (const socket of held) socket.destroy()
    const few = `${path}&id[lt]=3`
    for (let status = 503; status !== 200; await sleep(20)) status = (await textAt(app, admin.cookie, few)).status
    t.pass('when they have gone there is room again')
  })

  await t.test('who has gone before the first byte leaves no place taken', async () => {
    for (const ms of [0, 10, 25]) {
      const early = request(admin.cookie)
      await sleep(ms)
      early.destroy()
    }
    for (let isRoom = false; !isRoom; await sleep(20)) {
      const both = [await open(), await open()]
      isRoom = both.every((socket) => String(socket.read()).startsWith('HTTP/1.1 200'))
      for (const socket of both) socket.destroy()
    }
  })

  await t.test('who is shut out is cut off', async (t) => {
    const socket = await open(ann.cookie)
    await admin.post('/ws/users/ann', { enabled: false })
    let part = ''
    for await (const chunk of socket) part += chunk
    t.notMatch(part.slice(-10), /0\r\n\r\n$/)
  })

  await t.test('an end of the service ends all', async (t) => {
    const [one, two] = [begin(endless, { username: 'a' }), begin(endless, { username: 'b' })]
    t.match(await one.next(), { done: false })
    t.match(await two.next(), { done: false })
    const ended = kindOf(two, 20)
    await one.return(undefined)
    t.equal((await admin.get('/ws/rest/a.Item')).status, 200)
    const last = await open()
    await app.close()
    t.ok(last.destroyed || last.readable)
    t.equal(await ended, 'cancelled')
  })
})
