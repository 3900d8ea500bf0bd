import t from 'tap'
import { IdempotentRequest, KEY_LIFETIME_MS } from '../../src/journal/idempotency.ts'
import { pruneKeys } from '../../src/upkeep/prune.ts'
import { type Client, PASSWORD } from '../client.ts'
import { makeFolder, startApp, writeModel } from '../helper.ts'

const ITEM = {
  type: 'object',
  properties: {
    name: { type: 'string', unique: true },
    tags: { type: 'array', items: { type: 'string' } },
    done: { type: 'boolean' },
    parent: { type: 'integer', reference: 'a.Item' },
    secret: { type: 'string', writeOnly: true },
  },
}
const OWN = {
  type: 'object',
  history: false,
  properties: { text: { type: 'string' }, item: { type: 'integer', reference: 'a.Own' } },
  access: { read: [{ role: '*', where: 'own' }], create: ['*'], update: [{ role: 'may', where: 'own' }], delete: [] },
}
const MODELS = { 'a.Item.json': ITEM, 'a.Own.json': OWN }
const ITEMS = '/ws/rest/a.Item'

/** Sends a request under a key. */
const under =
  (client: Client, key: string) =>
  (method: string, path: string, body?: unknown, more = {}) =>
    client.send(method, path, body, { 'idempotency-key': key, ...more })

t.test('what is sent again is not done again', async (t) => {
  const app = await startApp(t, { models: MODELS })
  const admin = await app.login()
  const total = async () => (await admin.get(`${ITEMS}?limit=0`)).body.total
  let number = 0
  /** Sends it twice, and holds the answers against each other. */
  const twice = async (method: string, path: string, body?: unknown, headers = {}) => {
    const send = under(admin, `key ${++number}`)
    const first = await send(method, path, body, headers)
    t.equal(first.status, 200, `${method} ${path}: ${first.text}`)
    t.notOk(first.headers.has('idempotency-replayed'), 'the first one says nothing')
    const again = await send(method, path, body, headers)
    t.equal(again.text, first.text, `${method} ${path}: the same answer`)
    t.equal(again.headers.get('idempotency-replayed'), 'true')
    return first.body
  }

  await t.test('records', async (t) => {
    await twice('PUT', ITEMS, { data: { name: 'one', tags: ['x'], done: true, secret: 's' } })
    t.equal(await total(), 1)
    await twice('POST', `${ITEMS}/1`, { data: { version: 0, name: 'uno', done: false } })
    await twice('POST', `${ITEMS}/1`, { merge: true, data: { version: 0, tags: null } })
    t.match((await admin.get(`${ITEMS}/1`)).body.data, [{ version: 2, name: 'uno', tags: null }])
    await twice('POST', `${ITEMS}/1`, { data: { name: 'eins' } }, { 'if-match': '"2"' })
    await twice('POST', `${ITEMS}/1/restore`, { data: { version: 3, to: 0 } })
    await twice('DELETE', `${ITEMS}/1`)
    await twice('POST', `${ITEMS}/1/restore`, { data: {} })
    t.match((await admin.get(`${ITEMS}/1`)).body.data, [{ version: 5, name: 'one' }])
    await twice('DELETE', `${ITEMS}/1/history`)
    const { body } = await admin.get(`${ITEMS}/1/history`)
    t.equal(body.data.filter(({ operation }: { operation: string }) => operation === 'forget').length, 1)
    await twice('POST', '/ws/batch', {
      data: [
        { create: 'a.Item', data: { name: 'two' }, as: 'two' },
        { create: 'a.Item', data: { name: 'three', parent: { $ref: 'two' } } },
        { update: 'a.Item', data: { id: 1, version: 5, parent: { $ref: 'two' } } },
        { delete: 'a.Item', id: 3 },
      ],
    })
    t.equal(await total(), 2)
  })

  await t.test('people', async (t) => {
    await twice('PUT', '/ws/users', { data: { username: 'bob', password: PASSWORD } })
    await twice('POST', '/ws/users/bob', { data: { roles: ['may'] } })
    const token = await twice('PUT', '/ws/users/bob/tokens', { data: { name: 'script' } })
    t.match(token.data, [{ id: 1, token: /^dos_[\w-]{43}$/ }])
    t.equal((await admin.get('/ws/users/bob/tokens')).body.data.length, 1)
    await twice('DELETE', '/ws/users/bob/tokens/1')
    const bob = await app.login('bob')
    const other = await app.login('bob')
    const next = 'another-password'
    const change = () => under(bob, 'password')('POST', '/ws/me/password', { data: { current: PASSWORD, next } })
    t.equal((await change()).status, 200)
    const again = await change()
    t.equal(again.status, 200, 'the first password is not asked for again')
    t.equal(again.headers.get('idempotency-replayed'), 'true')
    t.equal((await other.get('/ws/me')).status, 401)
    await app.login('bob', next)
    const [session] = (await bob.get('/ws/me/sessions')).body.data.filter(
      ({ current }: { current: boolean }) => !current,
    )
    const end = () => under(bob, 'end')('DELETE', `/ws/me/sessions/${session.id}`)
    t.strictSame([(await end()).status, (await end()).status], [200, 200])
    await twice('DELETE', '/ws/users/bob')
  })

  await t.test('what is refused has done nothing, and is looked at anew', async (t) => {
    const send = under(admin, 'refused')
    t.equal((await send('PUT', ITEMS, { data: { name: 'one' } })).body.code, 'NOT_UNIQUE')
    t.equal((await send('PUT', ITEMS, { data: { name: 7 } })).body.code, 'VALIDATION_FAILED')
    const { status, headers } = await send('PUT', ITEMS, { data: { name: 'other' } })
    t.equal(status, 200)
    t.notOk(headers.has('idempotency-replayed'))
    for (const [method, path, body] of [
      ['PUT', ITEMS, { data: { name: 'another' } }],
      ['PUT', ITEMS, { data: { name: 'one' } }],
      ['POST', '/ws/batch', { data: [{ create: 'a.Item', data: { name: 'another' } }] }],
      ['DELETE', `${ITEMS}/1`, undefined],
    ] as const) {
      const reused = await send(method, path, body)
      t.match(reused, { status: 422, body: { code: 'KEY_REUSED', status: -4, message: /another request/ } })
    }
  })

  await t.test('odd keys; and where a key means nothing', async (t) => {
    for (const key of ['', 'x'.repeat(256), 'a\tb'])
      t.match(await under(admin, key)('PUT', ITEMS, { data: {} }), {
        status: 400,
        body: { code: 'BAD_REQUEST', message: /1 to 255 printable/ },
      })
    t.equal((await under(admin, 'x'.repeat(255))('PUT', ITEMS, { data: {} })).status, 200)
    t.equal((await under(admin, "' OR 1=1 --")('PUT', ITEMS, { data: {} })).status, 200)
    const search = under(admin, 'search')
    for (const body of [{ data: {} }, { limit: 1, data: {} }]) {
      const { status, headers } = await search('POST', `${ITEMS}/search`, body)
      t.equal(status, 200)
      t.notOk(headers.has('idempotency-replayed'))
    }
    t.equal((await search('GET', ITEMS)).status, 200)
    const login = await under(app.stranger, 'search')('POST', '/callback', { username: 'admin', password: PASSWORD })
    t.equal(login.status, 200)
  })

  await t.test('everybody has keys of their own', async (t) => {
    await admin.put('/ws/users', { username: 'ann', roles: [] })
    const ann = await app.login('ann')
    const body = { data: { name: 'of ann' } }
    t.equal((await under(admin, 'shared')('PUT', ITEMS, { data: { name: 'of admin' } })).status, 200)
    const mine = await under(ann, 'shared')('PUT', ITEMS, body)
    t.match(mine.body.data, [{ name: 'of ann', createdBy: 'ann' }])
  })

  await t.test('after a day it is another request', async (t) => {
    const send = under(admin, 'old')
    const body = { data: { name: 'old' } }
    t.equal((await send('PUT', ITEMS, body)).status, 200)
    await app.db
      .updateTable('dossier_keys')
      .set({ at: Date.now() - KEY_LIFETIME_MS })
      .where('key', '=', 'old')
      .execute()
    t.equal((await send('PUT', ITEMS, body)).body.code, 'NOT_UNIQUE')
    t.equal((await send('PUT', ITEMS, { data: { name: 'new' } })).status, 200)
    const count = async () => (await app.db.selectFrom('dossier_keys').select('key').execute()).length
    const before = await count()
    await app.db
      .updateTable('dossier_keys')
      .set({ at: Date.now() - KEY_LIFETIME_MS })
      .where('key', '=', 'shared')
      .execute()
    await pruneKeys(app.storage, () => false)
    t.equal(await count(), before - 2)
  })
})

t.test('at the same time, here and in another process', async (t) => {
  const folder = makeFolder(t, MODELS)
  const [one, other] = [await startApp(t, { folder }), await startApp(t, { folder })]
  const here = await one.login()
  const there = await other.login()
  await here.put(ITEMS, { name: 'first' })
  for (const [nth, [method, path, body]] of (
    [
      ['PUT', ITEMS, { data: { name: 'made' } }],
      ['POST', `${ITEMS}/1`, { data: { version: 0, done: true } }],
      ['POST', `${ITEMS}/1`, { merge: true, data: { version: 0, tags: [] } }],
      ['DELETE', `${ITEMS}/1`, undefined],
      ['POST', '/ws/batch', { data: [{ create: 'a.Item', data: { name: 'in a batch' } }] }],
      ['PUT', '/ws/users', { data: { username: 'eve' } }],
    ] as const
  ).entries()) {
    const answers = await Promise.all(
      [here, here, there, there, here, there].map((client) => under(client, `race ${nth}`)(method, path, body)),
    )
    const done = answers.filter(({ status }) => status === 200)
    t.ok(done.length >= 1, `${method} ${path}`)
    t.equal(new Set(done.map(({ text }) => text)).size, 1, 'all that were answered got the same')
    t.equal(done.filter(({ headers }) => !headers.has('idempotency-replayed')).length, 1, 'it was done once')
    for (const { status, body: told, headers } of answers.filter((answer) => answer.status !== 200)) {
      t.match({ status, code: told.code }, { status: 409, code: 'KEY_IN_USE' })
      t.equal(headers.get('retry-after'), '1')
    }
  }
  t.equal((await here.get(`${ITEMS}?limit=0`)).body.total, 2)
})

t.test('what is read before a write may be too late, because the write was done in another process', async (t) => {
  const { storage } = await startApp(t, { models: MODELS })
  const sent = { username: 'admin', key: 'prepared', hash: 'x' }
  const begin = () => IdempotentRequest.begin(storage, sent, () => {})
  const [first, second] = [await begin(), await begin()]
  const refused = async () => Promise.reject(new Error('gone'))
  await t.rejects(second.beforeWrite(refused), /gone/, 'nothing was done yet')
  const note = "INSERT INTO dossier_state (name, value) VALUES ('test', '1') RETURNING name"
  await first.write({ steps: [{ sql: note, parameters: [] }] })
  t.equal(await second.beforeWrite(async () => (second.stored ? 'replayed' : refused())), 'replayed')
  await t.rejects(second.beforeWrite(refused), /gone/)
})

t.test('somebody who may see less by now; and other tables', async (t) => {
  const app = await startApp(t, { models: MODELS })
  const admin = await app.login()
  await admin.put('/ws/users', { username: 'ann', roles: ['may'] })
  const ann = await app.login('ann')
  const own = '/ws/rest/a.Own'
  const send = under(ann, 'own')
  const made = await send('PUT', own, { data: { text: 'mine' } })
  await ann.put(own, { text: 'other', item: 1 })
  const refers = () => under(ann, 'refers')('PUT', own, { data: { item: 1 } })
  const first = await refers()
  await admin.put(ITEMS, { name: 'kept', secret: 's' })
  const merge = () => under(admin, 'merge')('POST', `${ITEMS}/1`, { merge: true, data: { version: 0, tags: ['a'] } })
  await admin.post(`${ITEMS}/1`, { version: 0, done: true })
  t.strictSame((await merge()).body.merged, ['done'])
  t.strictSame((await merge()).body.merged, ['done'])

  writeModel(app.folder, 'a.Own.json', { ...OWN, access: { ...OWN.access, read: ['nobody'] } })
  await app.service.reload()
  t.strictSame((await send('PUT', own, { data: { text: 'mine' } })).body.data, [{ id: 1, version: 0 }])
  writeModel(app.folder, 'a.Own.json', OWN)
  await app.service.reload()
  t.equal((await send('PUT', own, { data: { text: 'mine' } })).text, made.text)
  await admin.put('/ws/users', { username: 'bob', roles: [] })
  t.equal((await refers()).text, first.text)
  const secret = { ...OWN, properties: { ...OWN.properties, text: { type: 'string', writeOnly: true } } }
  writeModel(app.folder, 'a.Own.json', secret)
  await app.service.reload()
  t.match((await send('PUT', own, { data: { text: 'mine' } })).body.data, [
    { id: 1, text: undefined, createdBy: 'ann' },
  ])

  await admin.put(ITEMS, { name: 'typed' })
  const typed = () => under(admin, 'typed')('POST', `${ITEMS}/2`, { data: { version: 0, tags: ['array'] } })
  t.equal((await typed()).status, 200)
  await admin.post(`${ITEMS}/2`, { version: 1, tags: null })
  t.match((await typed()).body.data, [{ version: 1, tags: ['array'] }])
  writeModel(app.folder, 'a.Item.json', { ...ITEM, properties: { ...ITEM.properties, tags: { type: 'string' } } })
  await app.service.reload()
  const changed = await merge()
  t.match(changed, { status: 200, body: { merged: ['done'], data: [{ id: 1, version: 2, tags: '["a"]' }] } })
  const past = await typed()
  t.match(past, { status: 422, body: { code: 'KEY_REUSED', message: /was carried out, but .* is not kept/ } })
  t.strictSame(past.body.data, [{ id: 2, version: 1 }], 'what was of another type then cannot be told in today’s')
})

t.test('what is kept under a key is small, and the answer is rebuilt from it', async (t) => {
  const app = await startApp(t, { models: { ...MODELS, 'a.Plain.json': { ...ITEM, history: false } } })
  const admin = await app.login()
  const name = (n: number) => `${n} ${'x'.repeat(5000)}`
  const creates = Array.from({ length: 50 }, (_, n) => ({ create: 'a.Item', data: { name: name(n) } }))
  const first = await under(admin, 'batch')('POST', '/ws/batch', { data: creates })
  t.equal(first.status, 200)
  const updates = {
    data: Array.from({ length: 50 }, (_, n) => ({ update: 'a.Item', data: { id: n + 1, version: 0, done: true } })),
  }
  const second = await under(admin, 'updates')('POST', '/ws/batch', updates)
  t.equal(second.status, 200)
  const [{ bytes }] = (await app.storage.read({
    sql: 'SELECT max(length(rows)) AS bytes FROM dossier_keys',
    parameters: [],
  })) as unknown as [{ bytes: number }]
  t.ok(bytes < 3000, `${bytes} characters are kept of ${second.text.length}`)
  await admin.post(`${ITEMS}/7`, { version: 1, name: 'later' })
  await admin.delete(`${ITEMS}/8`)
  const again = await under(admin, 'batch')('POST', '/ws/batch', { data: creates })
  t.equal(again.text, first.text, 'also of what was changed or deleted since')
  t.equal((await under(admin, 'updates')('POST', '/ws/batch', updates)).text, second.text)
  const plain = () => under(admin, 'plain')('PUT', '/ws/rest/a.Plain', { data: { name: 'p' } })
  const made = await plain()
  t.equal((await plain()).text, made.text)
  await admin.post('/ws/rest/a.Plain/1', { version: 0, name: 'q' })
  t.equal((await plain()).text, made.text, 'what is kept nowhere else is kept with the key, if it is small')
  const large = () => under(admin, 'large')('PUT', '/ws/rest/a.Plain', { data: { name: name(0), tags: [name(1)] } })
  const { body } = await large()
  const [{ id }] = body.data
  t.strictSame((await large()).body, body)
  await admin.post(`/ws/rest/a.Plain/${id}`, { version: 0, name: 'q2' })
  t.match(await large(), { status: 422, body: { code: 'KEY_REUSED', data: [{ id, version: 0 }] } })
  const mixed = {
    data: [
      { create: 'a.Plain', data: { name: 'r', tags: [name(2), name(3)] } },
      { create: 'a.Item', data: { name: 'mixed' } },
      { delete: 'a.Plain', id: 1 },
    ],
  }
  const done = await under(admin, 'mixed')('POST', '/ws/batch', mixed)
  t.equal((await under(admin, 'mixed')('POST', '/ws/batch', mixed)).text, done.text)
  await admin.delete(`/ws/rest/a.Plain/${done.body.data[0].id}`)
  const brief = await under(admin, 'mixed')('POST', '/ws/batch', mixed)
  const [{ id: gone }, item] = done.body.data
  t.strictSame(brief.body.data, [{ id: gone, version: 0 }, item, 1], 'of one that is not kept there is the id')
})

const CONTACTS = '/ws/rest/contacts.Contact'

t.test('what could not be done is told again, and not kept', async (t) => {
  const app = await startApp(t)
  const admin = await app.login()
  await admin.put(CONTACTS, { firstName: 'Ada' })
  await admin.post(`${CONTACTS}/1`, { version: 0, firstName: 'Eve' })
  const twice = async (method: string, path: string, body?: object) => {
    const headers = { 'idempotency-key': path + method }
    const answers = [await admin.send(method, path, body, headers), await admin.send(method, path, body, headers)]
    return answers.map((answer) => answer.body.code)
  }
  const stale = { data: { version: 0, firstName: 'Late' } }
  t.strictSame(await twice('POST', `${CONTACTS}/1`, stale), ['VERSION_CONFLICT', 'VERSION_CONFLICT'])
  t.strictSame(await twice('DELETE', `${CONTACTS}/1?version=0`), ['VERSION_CONFLICT', 'VERSION_CONFLICT'])
  t.strictSame(await twice('POST', `${CONTACTS}/99`, stale), ['RECORD_NOT_FOUND', 'RECORD_NOT_FOUND'])
})
