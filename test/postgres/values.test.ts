import t from 'tap'
import { hasServer } from './run-on-postgres.ts'

const isThere = hasServer()
process.env.TEST_ENGINE = 'postgres'
const { startApp, writeModel } = await import('../helper.ts')
const { onServer } = await import('../engine.ts')

const THINGS = '/ws/rest/a.Thing'
const MODEL = {
  type: 'object',
  properties: { text: { type: 'string' }, code: { type: 'string' }, more: { type: 'object' } },
  unique: [['code']],
}

if (isThere)
  t.test('a table that another node has just changed is not read through the old model', async (t) => {
    const n = { type: 'integer' }
    const app = await startApp(t, { models: { 'a.Thing.json': { type: 'object', properties: { n } } } })
    const admin = await app.login()
    const { body } = await admin.put(THINGS, { n: 7 })
    const { id } = body.data[0]
    t.equal((await admin.get(`${THINGS}/${id}`)).status, 200)
    const change = `ALTER TABLE "a__Thing" ALTER COLUMN n TYPE text USING 'number ' || n;
      UPDATE dossier_tables SET shape = 'other' WHERE tbl = 'a__Thing'`
    await onServer(change, app.config.DATABASE_URL)
    // Whether it is known already or not.
    for (let nth = 0; nth < 5; nth++)
      t.match((await admin.get(`${THINGS}/${id}`)).body, { code: 'UNAVAILABLE', message: /models are being changed/ })
    t.match((await admin.get(THINGS)).body, { code: 'UNAVAILABLE' })
  })

if (isThere)
  t.test('what PostgreSQL cannot index is told by its field', async (t) => {
    const app = await startApp(t, { models: { 'a.Thing.json': MODEL } })
    const admin = await app.login()
    const refused = { code: 'VALIDATION_FAILED', errors: { code: 'is too long to be indexed' } }
    const long = Array.from({ length: 9000 }, (_, nth) => String.fromCharCode(0x4e00 + ((nth * 7919) % 20_000))).join(
      '',
    )
    t.match((await admin.put(THINGS, { code: long })).body, refused)
    const { body } = await admin.put(THINGS, { text: long })
    t.match(body.data, [{ text: long }], 'elsewhere it may be as long')
    const batch = [
      { create: 'a.Thing', data: {} },
      { create: 'a.Thing', data: { code: long } },
    ]
    t.match((await admin.post('/ws/batch', batch)).body, { ...refused, at: 1 })
    t.match((await admin.get(THINGS)).body, { total: 1 })
    const odd = { code: 'BAD_REQUEST', message: /U\+0000/ }
    t.match((await admin.get(`${THINGS}?text=a%00b`)).body, odd)
    t.match((await app.stranger.send('POST', '/callback', { username: 'a\0b', password: 'x' })).body, odd)
    const { id } = body.data[0]
    t.equal((await admin.get(`${THINGS}/${id}?version=2147483647`)).body.code, 'VERSION_NOT_FOUND')
    writeModel(app.folder, 'a.Thing.json', { ...MODEL, indexes: [['text']] })
    await app.service.reload()
    t.match((await admin.get('/health')).body.data, [{ models: { current: true } }], 'a sort key has a bound')
    writeModel(app.folder, 'a.Thing.json', { ...MODEL, unique: [['text']] })
    await app.service.reload()
    t.match((await admin.get('/health')).body.data, [
      { models: { current: false, why: [/a\.Thing: make text unique is not possible: index row/] } },
    ])
  })

if (isThere)
  t.test('a record that is wider than a row can be is refused', async (t) => {
    const names = Array.from({ length: 600 }, (_, nth) => `f${nth}`)
    const properties = Object.fromEntries(names.map((name) => [name, { type: 'string' }]))
    const app = await startApp(t, { models: { 'a.Thing.json': { type: 'object', properties } } })
    const admin = await app.login()
    const { body } = await admin.put(THINGS, Object.fromEntries(names.map((name) => [name, 'x'.repeat(20)])))
    t.match(body, { code: 'VALIDATION_FAILED', message: /wider than the database can keep it/ })
    t.equal((await admin.put(THINGS, { f1: 'x'.repeat(20) })).status, 200)
  })
