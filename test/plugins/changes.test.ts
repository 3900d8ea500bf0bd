import { rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { type Client, PASSWORD } from '../client.ts'
import { atShell } from '../engine.ts'
import { startApp, writeModel } from '../helper.ts'
import { listen } from '../listen.ts'

const THING = { type: 'object', properties: { text: { type: 'string' }, secret: { type: 'string', writeOnly: true } } }
const OWN = {
  type: 'object',
  properties: { text: { type: 'string' }, label: { type: 'string', computed: '<{text}>' } },
  access: { read: ['boss', { role: '*', where: 'own' }], create: ['*'], update: ['*'], delete: ['*'] },
}
const CLOSED = { type: 'object', properties: { text: { type: 'string' } }, access: { read: ['boss'] } }
const MODELS = { 'a.Thing.json': THING, 'a.Own.json': OWN, 'a.Closed.json': CLOSED }

t.test('the feed', async (t) => {
  const app = await startApp(t, { models: MODELS })
  const admin = await app.login()
  for (const [username, roles] of Object.entries({ ann: [], bob: [], zoe: ['boss'] }))
    await admin.put('/ws/users', { username, password: PASSWORD, roles })
  const [ann, bob, zoe] = [await app.login('ann'), await app.login('bob'), await app.login('zoe')]
  const make = async (client: Client, model: string, data: object) =>
    (await client.put(`/ws/rest/${model}`, data)).body.data[0].id as number

  await t.test('a page of changes, and where to go on', async (t) => {
    t.match((await admin.get('/ws/changes')).body, { status: 0, next: 0, data: [] })
    const id = await make(ann, 'a.Thing', { text: 'one', secret: 'sesame' })
    await bob.post(`/ws/rest/a.Thing/${id}`, { version: 0, text: 'two' })
    await ann.delete(`/ws/rest/a.Thing/${id}`)
    const { body, text } = await bob.get('/ws/changes')
    t.match(body.data, [
      { change: 1, model: 'a.Thing', id, version: 0, operation: 'create', by: 'ann', fields: ['text', 'secret'] },
      { change: 2, model: 'a.Thing', id, version: 1, operation: 'update', by: 'bob', fields: ['text'] },
      { change: 3, model: 'a.Thing', id, version: 1, operation: 'delete', by: 'ann' },
    ])
    t.notMatch(text, /sesame|createdBy|two/)
    t.equal(body.next, 3)
    t.match((await bob.get('/ws/changes?since=1&limit=1')).body, { next: 2, data: [{ change: 2 }] })
    t.match((await bob.get('/ws/changes?since=3')).body, { next: 3, data: [] })
    t.match((await bob.get('/ws/changes?since=0&limit=0')).body, { next: 0, data: [] })
    t.match((await bob.get('/ws/changes?since=4')).body, { code: 'CHANGES_GONE', data: [{ oldest: 1 }] })
    for (const query of ['since=-1', 'since=x', 'limit=1001', 'models=a&models=b', 'x=1'])
      t.match((await bob.get(`/ws/changes?${query}`)).body, { code: 'BAD_REQUEST' }, query)
    t.match((await bob.get('/ws/changes?models=a.Thing,a.Thng')).body, { code: 'MODEL_NOT_FOUND' })
    t.match((await bob.get('/ws/changes?models=a.Closed')).body, { code: 'FORBIDDEN' })
    t.match((await app.stranger.get('/ws/changes')).body, { code: 'LOGIN_REQUIRED' })
    t.equal((await app.stranger.get('/ws/changes/stream')).status, 401)
  })

  await t.test('everybody sees what they may read', async (t) => {
    const { next } = (await admin.get('/ws/changes')).body
    const id = await make(ann, 'a.Own', { text: 'hers' })
    await make(admin, 'a.Closed', { text: 'closed' })
    await make(bob, 'a.Own', { text: 'his' })
    await ann.delete(`/ws/rest/a.Own/${id}`)
    const seen = async (client: Client, query = '') =>
      (await client.get(`/ws/changes?since=${next}${query}`)).body.data.map(
        ({ change, operation }: { change: number; operation: string }) => `${change - next} ${operation}`,
      )
    t.strictSame(await seen(ann), ['1 create', '4 delete'])
    t.strictSame(await seen(bob), ['3 create'])
    t.strictSame(await seen(zoe), ['1 create', '2 create', '3 create', '4 delete'])
    t.strictSame(await seen(admin, '&models=a.Closed'), ['2 create'])
    t.equal((await bob.get(`/ws/changes?since=${next}`)).body.next, next + 4, 'past what is not theirs')
    t.equal((await ann.get(`/ws/changes?since=${next}&limit=1`)).body.next, next + 1)
  })

  await t.test('streams tell of each change once, in order, with the record after it', async (t) => {
    const start = (await admin.get('/ws/changes')).body.next
    const all = await listen(zoe)
    const hers = await listen(ann)
    const one = await listen(ann, '?models=a.Thing')
    t.equal(all.headers.get('content-type'), 'text/event-stream')
    t.equal(all.headers.get('x-content-type-options'), 'nosniff')
    const id = await make(ann, 'a.Own', { text: 'a' })
    const thing = await make(bob, 'a.Thing', { text: 'b', secret: 'sesame' })
    await ann.post(`/ws/rest/a.Own/${id}`, { version: 0, text: 'c' })
    await make(bob, 'a.Own', { text: 'his' })
    await ann.delete(`/ws/rest/a.Own/${id}`)
    await bob.delete(`/ws/rest/a.Thing/${thing}`)
    const events = await all.until(6)
    t.match(events, [
      {
        id: String(start + 1),
        event: 'create',
        data: { change: start + 1, record: { id, text: 'a', label: '<a>', version: 0 } },
      },
      { event: 'create', data: { model: 'a.Thing', fields: ['text', 'secret'], record: { text: 'b' } } },
      { event: 'update', data: { by: 'ann', fields: ['text'], record: { text: 'c', label: '<c>', version: 1 } } },
      { event: 'create' },
      { event: 'delete', data: { id, version: 1, record: null } },
      { event: 'delete' },
    ])
    t.notMatch(JSON.stringify(events), /sesame/)
    t.strictSame(
      (await hers.until(5)).map(({ id: at }) => Number(at) - start),
      [1, 2, 3, 5, 6],
    )
    t.strictSame(
      (await one.until(2)).map(({ id: at }) => Number(at) - start),
      [2, 6],
    )
    t.equal(all.marks[0], String(start), 'where it begins')

    const again = await listen(zoe, `?since=${start}`)
    t.strictSame(await again.until(6), events, 'the same, also of what is not so any more')
    const later = await listen(zoe, '', { 'last-event-id': String(start + 4) })
    t.strictSame(await later.until(2), events.slice(4))
    const gone = await listen(zoe, '', { 'last-event-id': '999999' })
    t.equal(gone.status, 410)
    t.equal((await listen(zoe, '?since=x')).status, 400)
    t.equal((await listen(zoe, '', { 'last-event-id': 'x' })).status, 400)
    const part = await listen(zoe, `?since=${start}&models=a.Thing`)
    t.strictSame(
      (await part.until(2)).map(({ id: at }) => Number(at) - start),
      [2, 6],
    )
    part.stop()
    for (const stream of [all, hers, one, again, later]) stream.stop()
    while (!/^dossier_streams 0$/m.test(await metrics(admin))) await sleep(5)
    t.match(await metrics(admin), new RegExp(`^dossier_changes ${start + 6}$`, 'm'))
    await make(ann, 'a.Thing', { text: 'nobody listens' })
  })

  await t.test('many changes, while others come and go: nothing is missed, nothing comes twice', async (t) => {
    const start = (await admin.get('/ws/changes')).body.next
    const early = await listen(zoe)
    const late: Awaited<ReturnType<typeof listen>>[] = []
    const text = 'x'.repeat(3000)
    for (let round = 0; round < 10; round++) {
      await Promise.all(
        Array.from({ length: 40 }, (_, nth) => admin.put('/ws/rest/a.Thing', { text: `${round} ${nth} ${text}` })),
      )
      late.push(await listen(zoe, `?since=${start}`))
    }
    for (const { until, stop } of [early, ...late]) {
      const numbers = (await until(400)).map(({ id }) => Number(id))
      t.strictSame(
        numbers,
        Array.from({ length: 400 }, (_, index) => start + 1 + index),
      )
      stop()
    }
  })

  await t.test('a stream ends with its session, and with its roles', async (t) => {
    const session = await app.login('zoe')
    const logged = await listen(session)
    const roles = await listen(zoe)
    await session.get('/logout')
    t.equal(await logged.ended, true)
    await admin.post('/ws/users/zoe', { roles: ['boss', 'other'] })
    t.equal(await roles.ended, true)
  })

  await t.test('a change made by another process is told as well', async (t) => {
    const stream = await listen(zoe)
    await atShell(app.config, `INSERT INTO "a__Thing" (text) VALUES ('by hand')`)
    t.match(await stream.until(1), [{ event: 'create', data: { by: null, record: { text: 'by hand' } } }])
    stream.stop()
  })

  await t.test('models change: streams go on, and are told', async (t) => {
    const all = await listen(zoe)
    const one = await listen(zoe, '?models=a.Own')
    writeModel(app.folder, 'a.Thing.json', { ...THING, properties: { ...THING.properties, more: { type: 'integer' } } })
    await app.service.reload()
    t.match(await all.until(1), [{ event: 'models', data: {}, id: '' }])
    await make(ann, 'a.Thing', { text: 'new', more: 1 })
    t.match((await all.until(2))[1], { event: 'create', data: { record: { more: 1 } } })
    rmSync(`${app.folder}/models/a.Own.json`)
    await app.service.reload()
    t.equal(await one.ended, true, 'what it listened to is gone')
    await sleep(20)
    t.match(
      (await admin.get('/ws/changes')).body.data.filter(({ model }: { model: string }) => model === 'a.Own'),
      [],
    )
    all.stop()
  })

  await t.test('a stop ends streams at once', async (t) => {
    const stream = await listen(zoe)
    const start = Date.now()
    await app.close()
    t.equal(await stream.ended, true)
    t.ok(Date.now() - start < 5000)
  })
})

const metrics = async ({ url, cookie }: Client) =>
  (await fetch(`${url}/metrics`, { headers: { cookie: cookie as string } })).text()
