import t from 'tap'
import { PASSWORD } from '../client.ts'
import { startApp } from '../helper.ts'

const PATH = '/ws/rest/shop.Order'
const MODELS = {
  'shop.Order.json': {
    type: 'object',
    properties: {
      number: { type: 'string', unique: true },
      note: { type: 'string' },
      pin: { type: 'string', writeOnly: true },
      customer: { type: 'integer', reference: 'shop.Customer' },
      tags: { type: 'array', items: { type: 'integer', reference: 'shop.Customer' } },
    },
    required: ['number'],
    access: { read: ['*'], create: ['sales'], update: ['sales'], delete: ['sales'] },
  },
  'shop.Customer.json': {
    type: 'object',
    properties: { name: { type: 'string' }, code: { type: 'string' }, city: { type: 'string' } },
  },
}

t.test('clients of another system', async (t) => {
  const service = await startApp(t, { models: MODELS })
  const admin = await service.login()
  await admin.put('/ws/users', { username: 'reader', roles: [], password: PASSWORD })
  await admin.put('/ws/users', { username: 'seller', roles: ['sales'], password: PASSWORD })
  const reader = await service.login('reader')
  const seller = await service.login('seller')
  await admin.put('/ws/rest/shop.Customer', { name: 'Ann', code: 'A', city: 'Oslo' })

  await t.test('save', async (t) => {
    const save = (body: object, headers = {}) => seller.send('POST', PATH, body, headers)
    t.match(await save({ data: { id: null, version: null, number: 'one', customer: 1, tags: [1], pin: 'x' } }), {
      status: 200,
      body: { data: [{ id: 1, version: 0, number: 'one', customer: 1 }] },
    })
    t.match(await save({ data: { id: 1, version: 0, note: 'x' } }), { body: { data: [{ version: 1, note: 'x' }] } })
    const late = await save({ data: { id: 1, version: 0, note: 'y' } })
    t.match(late, { status: 409, body: { code: 'VERSION_CONFLICT', data: [{ note: 'x' }] } })
    t.match(await save({ data: { id: 1, note: 'y' } }), { status: 400, body: { code: 'VERSION_REQUIRED' } })
    const two = await save({ records: [{ number: 'two' }, { id: 1, version: 1, note: 'z' }] })
    t.match(two, { status: 200, body: { data: [{ number: 'two' }, { id: 1, version: 2, note: 'z' }] } })
    t.match(await save({ records: [{ number: 'three' }, { number: 'two' }] }), {
      status: 409,
      body: { code: 'NOT_UNIQUE', at: 1 },
    })
    t.equal((await admin.get(PATH)).body.total, 2, 'all or nothing')
    for (const wrong of [{}, { data: {}, records: [{}] }])
      t.match(await save(wrong), { status: 400, body: { message: /Send \{"data"/ } })
    t.match(await save({ data: { nothing: 1 } }), { status: 422 })
    t.match(await save({ data: { number: 'x', _archived: true } }), {
      status: 422,
      body: { errors: { _archived: /not/ } },
    })
    t.match(await reader.send('POST', PATH, { data: { number: 'x' } }), { status: 403 })
    const key = { 'idempotency-key': 'k1' }
    const first = await save({ data: { number: 'once' } }, key)
    t.strictSame((await save({ data: { number: 'once' } }, key)).body, first.body, 'done once')
  })

  await t.test('fetch and copy', async (t) => {
    const fetched = (body: object) => reader.send('POST', `${PATH}/1/fetch`, body)
    const shape = { fields: ['number'], related: { customer: ['name'], tags: ['code'] } }
    const wanted = {
      id: 1,
      version: 2,
      number: 'one',
      customer: { id: 1, version: 0, name: 'Ann' },
      tags: [{ id: 1, version: 0, code: 'A' }],
    }
    t.strictSame((await fetched({ data: shape })).body.data, [wanted])
    t.strictSame((await fetched(shape)).body.data, [wanted], 'also without data')
    t.match((await fetched({})).body.data[0], { number: 'one', note: 'z', customer: 1 })
    t.match(await fetched({ data: { related: { number: ['x'] } } }), {
      status: 400,
      body: { message: /not a reference/ },
    })
    t.match(await fetched({ data: { related: { customer: ['x'] } } }), { status: 400, body: { message: /"x"/ } })
    t.match(await fetched({ data: { fields: ['pin'] } }), { status: 400 })
    t.equal((await reader.send('POST', `${PATH}/99/fetch`, {})).status, 404)
    await admin.put(PATH, { number: 'bare' })
    t.match((await admin.send('POST', `${PATH}/2/fetch`, { data: shape })).body.data, [{ customer: null }])
    t.strictSame((await reader.get(`${PATH}/1/copy`)).body.data, [{ number: 'one', note: 'z', customer: 1, tags: [1] }])
    t.equal((await reader.get(`${PATH}/99/copy`)).status, 404)
  })

  await t.test('removeAll', async (t) => {
    const remove = (records: object[]) => seller.send('POST', `${PATH}/removeAll`, { records })
    t.match(await remove([{ id: 1 }]), { status: 400, body: { code: 'VERSION_REQUIRED', message: /records\[0\]/ } })
    t.match(await remove([{ id: 1, version: 2, x: 1 }]), { status: 400, body: { message: /"x"/ } })
    t.match(
      await remove([
        { id: 2, version: 0 },
        { id: 1, version: 1 },
      ]),
      { status: 409, body: { at: 1 } },
    )
    t.match(await remove([{ id: 'x', version: 1 }]), { status: 422 })
    t.match(await remove([]), { status: 400 })
    t.match(await reader.send('POST', `${PATH}/removeAll`, { records: [{ id: 1, version: 2 }] }), { status: 403 })
    const both = [
      { id: 2, version: 0 },
      { id: 1, version: 2 },
    ]
    t.strictSame((await remove(both)).body, { status: 0, data: both })
    t.equal((await admin.get(`${PATH}/1`)).status, 404)
  })

  await t.test('API-KEY, and what is refused', async (t) => {
    const { token } = (await seller.put('/ws/me/tokens', { name: 'script' })).body.data[0]
    const found = await service.stranger.send('GET', PATH, undefined, { 'api-key': token })
    t.equal(found.status, 200)
    t.equal((await service.stranger.send('GET', PATH, undefined, { 'api-key': 'dos_wrong' })).status, 401)
    t.equal((await service.stranger.send('GET', PATH, undefined, { 'api-key': 'a b' })).status, 401)
    const search = async (data: object) => (await admin.send('POST', `${PATH}/search`, { data })).body.message
    t.match(
      await search({ _domain: 'self.x = 1' }),
      /unknown part "_domain". It is refused: say the same in "criteria"/,
    )
    t.match(await search({ _archived: true, criteria: [] }), /nothing is archived here/)
    t.match((await admin.get(`${PATH}?_archived=true`)).body.message, /nothing is archived here/)
    t.notOk(Object.keys((await admin.get('/openapi.json')).body.paths).some((path) => path.endsWith('/fetch')))
  })
})
