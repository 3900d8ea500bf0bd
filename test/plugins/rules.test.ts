import t, { type Test } from 'tap'
import { type Client, startApp } from '../helper.ts'

const regional = { fieldName: 'region', operator: 'in', value: '$user.regions' }
const rule = (where: unknown, role = 'sales') => ({ role, where })

/** Sales see the customers of their regions, and everybody their own. */
const CUSTOMER = {
  type: 'object',
  properties: {
    name: { type: 'string', unique: true },
    region: { type: 'string', index: true },
    size: { type: 'integer' },
    orders: { inverse: 'c.Order.customer' },
  },
  nameField: 'name',
  required: ['name'],
  access: {
    read: [rule(regional), rule('own', '*'), 'auditor'],
    create: [rule(regional)],
    update: [rule(regional)],
    delete: [rule(regional)],
  },
}

/** Orders are seen by who sees the customer's region, through the reference. */
const behind = { fieldName: 'customer.region', operator: 'in', value: '$user.regions' }
const ORDER = {
  type: 'object',
  properties: {
    number: { type: 'integer', unique: true },
    customer: { type: 'integer', reference: 'c.Customer', onDelete: 'cascade' },
    total: { type: 'string', format: 'decimal' },
  },
  access: { read: [rule(behind)], create: [rule(behind)], update: [rule(behind)], delete: [rule(behind)] },
}
const CUSTOMERS = '/ws/rest/c.Customer'
const ORDERS = '/ws/rest/c.Order'

async function withSales(t: Test) {
  const service = await startApp(t, { models: { 'c.Customer.json': CUSTOMER, 'c.Order.json': ORDER } })
  const admin = await service.login()
  const person = async (username: string, roles: string[], attributes?: object): Promise<Client> => {
    await admin.put('/ws/users', { username, roles, ...(attributes && { attributes }) })
    return service.login(username)
  }
  const north = await person('nora', ['sales'], { regions: ['north'] })
  const both = await person('bo', ['sales'], { regions: ['north', 'south'] })
  const lost = await person('lou', ['sales'])
  const auditor = await person('ada', ['auditor'])
  const make = async (path: string, data: object): Promise<number> => (await admin.put(path, data)).body.data[0].id
  const ids = {
    anna: await make(CUSTOMERS, { name: 'Anna', region: 'north', size: 1 }),
    sven: await make(CUSTOMERS, { name: 'Sven', region: 'south', size: 10 }),
    nemo: await make(CUSTOMERS, { name: 'Nemo', size: 100 }),
  }
  await make(ORDERS, { number: 1, customer: ids.anna, total: '10' })
  await make(ORDERS, { number: 2, customer: ids.sven, total: '20' })
  return { service, admin, north, both, lost, auditor, ids, person }
}

const names = (body: { data: { name: string }[] }) => body.data.map(({ name }) => name)

t.test('what is out of reach is not there', async (t) => {
  const { admin, north, both, lost, auditor, ids } = await withSales(t)
  const found = async (client: Client, query = '') => (await client.get(`${CUSTOMERS}${query}`)).body
  t.match(await found(admin), { total: 3 })
  t.match(await found(auditor), { total: 3 })
  t.match(await found(north), { total: 1, data: [{ name: 'Anna' }] })
  t.strictSame(names(await found(both, '?sort=-name')), ['Sven', 'Anna'])
  t.match(await found(lost), { total: 0, data: [] }, 'who lacks the attribute reaches nothing')
  t.match(await found(north, '?name=Sven'), { total: 0 }, 'not by a unique value')
  t.match(await found(north, '?name=Anna'), { total: 1 })
  t.match(await found(north, '?q=sven'), { total: 0 })
  t.match(await found(north, '?orders.number=2'), { total: 0 })
  t.match(await found(north, '?orders[count]=1&expand=orders'), { total: 1, data: [{ orders: { total: 1 } }] })
  for (const [client, id, status] of [
    [north, ids.anna, 200],
    [north, ids.sven, 404],
    [both, ids.sven, 200],
    [lost, ids.anna, 404],
    [north, ids.nemo, 404],
  ] as const) {
    t.equal((await client.get(`${CUSTOMERS}/${id}`)).status, status)
    t.equal((await client.get(`${CUSTOMERS}/${id}/history`)).status, status)
    t.equal((await client.get(`${CUSTOMERS}/${id}?version=0`)).status, status)
  }
  t.match((await north.get(`${ORDERS}?expand=customer`)).body, {
    total: 1,
    data: [{ number: 1, customer: { name: 'Anna' } }],
  })
  t.match((await north.get(`${ORDERS}/2`)).status, 404)
  t.match((await both.get(`${ORDERS}/2?expand=customer`)).body, { data: [{ customer: { name: 'Sven' } }] })
  t.match((await north.get(`${ORDERS}/aggregate?values=sum(total),count`)).body.data, [
    { 'sum(total)': '10', count: 1 },
  ])
  t.match((await north.get('/ws/search?q=sven')).body.data, [])
  const file = await fetch(`${north.url}${CUSTOMERS}/export?fields=name`, {
    headers: { cookie: north.cookie as string },
  })
  t.match((await file.text()).split(/\r?\n/), ['id,version,name', '1,0,Anna', ''])
})

t.test('a rule holds before and after', async (t) => {
  const { admin, north, both, lost, ids } = await withSales(t)
  const refused = { status: 403, body: { code: 'FORBIDDEN' } }
  const made = await north.put(CUSTOMERS, { name: 'Nils', region: 'north' })
  t.match(made, { status: 200, body: { data: [{ name: 'Nils' }] } })
  t.match(await north.put(CUSTOMERS, { name: 'Out', region: 'south' }), refused)
  t.match(await north.put(CUSTOMERS, { name: 'Out' }), refused)
  t.match(await lost.put(CUSTOMERS, { name: 'Out', region: 'north' }), refused)
  const anna = `${CUSTOMERS}/${ids.anna}`
  t.match(await north.post(anna, { version: 0, region: 'south' }), refused)
  t.match(await north.send('POST', anna, { data: { version: 0, region: null }, merge: true }), refused)
  t.match(await north.post(anna, { version: 0, size: 2 }), { status: 200, body: { data: [{ size: 2, version: 1 }] } })
  t.match(await north.post(anna, { version: 0, region: 'south' }), { status: 409 }, 'the conflict is told first')
  t.match(await north.post(`${CUSTOMERS}/${ids.sven}`, { version: 0, size: 3 }), { status: 404 })
  t.match(await north.delete(`${CUSTOMERS}/${ids.sven}?version=0`), { status: 404 })
  t.match(await both.post(anna, { version: 1, region: 'south' }), { status: 200 })
  t.match(await north.get(anna), { status: 404 })
  t.match(await both.post(`${anna}/restore`, { version: 2, to: 0 }), {
    status: 200,
    body: { data: [{ region: 'north' }] },
  })

  const batch = (client: Client, ...data: object[]) => client.send('POST', '/ws/batch', { data })
  const inBatch = { ...refused, body: { code: 'FORBIDDEN', at: 1 } }
  const create = (name: string, region: string, as?: string) => ({
    create: 'c.Customer',
    data: { name, region },
    ...(as && { as }),
  })
  t.match(await batch(north, create('B1', 'north'), create('B2', 'south')), inBatch)
  t.match((await admin.get(`${CUSTOMERS}?name[in]=B1,B2,Out`)).body.total, 0, 'nothing of it is written')
  const order = (number: number, customer: unknown) => ({ create: 'c.Order', data: { number, customer } })
  const done = await batch(north, create('B1', 'north', 'b'), order(7, { $ref: 'b' }), {
    update: 'c.Customer',
    data: { id: ids.anna, version: 3, size: 9 },
  })
  t.match(done, { status: 200, body: { data: [{ name: 'B1' }, { number: 7 }, { size: 9 }] } })
  t.equal(done.body.data[1].customer, done.body.data[0].id)
  t.match(await north.put(CUSTOMERS, { name: 'T', region: 'north', orders: [{ number: 8 }] }), {
    status: 200,
    body: { data: [{ orders: { data: [{ number: 8 }] } }] },
  })
  t.match(
    await north.put(ORDERS, { number: 9, customer: ids.sven }),
    { status: 409 },
    'a record out of reach cannot be referred to',
  )
  t.match(await north.put(ORDERS, { number: 9 }), refused)

  const upload = (client: Client, text: string, query = '') =>
    client.send('POST', `${CUSTOMERS}/import?format=csv${query}`, text, { 'content-type': 'text/csv' })
  const file = await upload(north, 'name,region\nI1,north\nI2,south\n')
  t.match(file, { status: 422 })
  t.match(file.text, /"3":"You may not create/)
  t.match((await upload(north, 'name,region\nI1,north\nI3,north\n')).body, { data: [{ created: 2 }] })
  t.match(await upload(north, 'name,region\nI1,south\n', '&key=name'), { status: 422 })
  t.match((await upload(north, 'name,size\nI1,5\n', '&key=name')).body, { data: [{ updated: 1 }] })
  t.match(await upload(north, 'name,size\nSven,5\n', '&key=name'), { status: 422 })
})

t.test('deleted records, and undo', async (t) => {
  const { admin, north, both, ids } = await withSales(t)
  for (const id of [ids.anna, ids.sven]) await admin.delete(`${CUSTOMERS}/${id}`)
  t.match((await north.get(`${CUSTOMERS}/deleted`)).body, { total: 1, data: [{ name: 'Anna' }] })
  t.match((await both.get(`${CUSTOMERS}/deleted?limit=1`)).body, { total: 2, data: [{ name: 'Sven' }], next: String })
  t.match((await north.get(`${CUSTOMERS}/${ids.anna}`)).text, /admin deleted it/)
  t.notMatch((await north.get(`${CUSTOMERS}/${ids.sven}`)).text, /deleted/)
  t.match(await north.get(`${CUSTOMERS}/${ids.anna}/history`), { status: 200 })
  t.match(await north.get(`${CUSTOMERS}/${ids.sven}/history`), { status: 404 })
  t.match(await north.post(`${CUSTOMERS}/${ids.sven}/restore`, {}), { status: 404 })
  const changes = (await admin.get('/ws/changes')).body.data
  const [ofAnna, ofSven] = changes.filter(
    (one: { operation: string; model: string }) => one.operation === 'delete' && one.model === 'c.Customer',
  )
  t.match(await north.send('POST', `/ws/changes/${ofSven.change}/undo`, { data: {} }), { status: 404 })
  t.match(await north.send('POST', `/ws/changes/${ofAnna.change}/undo`, { data: {} }), { status: 200 })
  t.match((await north.get(`${ORDERS}`)).body, { total: 1 })
  t.match(await both.post(`${CUSTOMERS}/${ids.sven}/restore`, {}), { status: 200 })
})

t.test('the feed tells who loses sight of a record, and who gains it', async (t) => {
  const { admin, north, both, ids } = await withSales(t)
  const start = (await admin.get('/ws/changes')).body.next
  const anna = `${CUSTOMERS}/${ids.anna}`
  await admin.post(anna, { version: 0, size: 5 })
  await admin.post(anna, { version: 1, region: 'south' })
  await admin.post(anna, { version: 2, size: 6 })
  await admin.post(anna, { version: 3, region: 'north' })
  await admin.delete(anna)
  const seen = async (client: Client) =>
    (await client.get(`/ws/changes?since=${start}&models=c.Customer`)).body.data.map(
      ({ operation, version }: { operation: string; version: number }) => `${operation} ${version}`,
    )
  t.strictSame(await seen(admin), ['update 1', 'update 2', 'update 3', 'update 4', 'delete 4'])
  t.strictSame(await seen(both), await seen(admin))
  t.strictSame(await seen(north), ['update 1', 'leave 1', 'update 4', 'delete 4'])
  const page = (await north.get(`/ws/changes?since=${start}&models=c.Customer`)).body
  t.notMatch(JSON.stringify(page), /south/)
})

t.test('an admin sees what a user sees', async (t) => {
  const { admin, north } = await withSales(t)
  t.strictSame((await admin.get(`${CUSTOMERS}?as=NORA`)).body, (await north.get(CUSTOMERS)).body)
  t.match(await admin.get(`${CUSTOMERS}?as=nora&sort=name&name=Sven`), { status: 200, body: { total: 0 } })
  const refused: [client: Client, query: string, status: number, has: RegExp][] = [
    [north, '?as=bo', 403, /needs the role \\"admin\\"/],
    [admin, '?as=nobody', 404, /There is no user/],
    [admin, '?as=bo&as=nora', 400, /given once/],
    [admin, '/aggregate?as=bo', 400, /no field \\"as\\"/],
  ]
  for (const [client, query, status, has] of refused) {
    const answer = await client.get(`${CUSTOMERS}${query}`)
    t.match(answer, { status, text: has }, query)
  }
  t.match((await admin.get(`${ORDERS}?as=ada`)).body, { code: 'FORBIDDEN', message: /ada may not read c.Order/ })
})

t.test('other rights are told by the feed', async (t) => {
  const { admin, north, ids } = await withSales(t)
  const { next } = (await north.get('/ws/changes')).body
  await admin.post('/ws/users/nora', { attributes: { regions: ['north'] }, roles: ['sales'] })
  t.match(await north.get(`/ws/changes?since=${next}`), { status: 200 }, 'the same rights as before')
  await admin.post('/ws/users/nora', { attributes: { regions: ['south'] } })
  const gone = await north.get(`/ws/changes?since=${next}`)
  t.match(gone, { status: 410, body: { code: 'CHANGES_GONE', message: /Your rights/, data: [{ oldest: next + 1 }] } })
  t.match((await north.get(`/ws/changes?since=${next + 1}`)).body, { data: [] })
  t.match((await north.get('/ws/changes')).body, { data: [] }, 'from there on, if nothing is said')
  t.equal((await north.get(`${CUSTOMERS}/${ids.anna}`)).status, 404)
  t.equal((await north.get(`${CUSTOMERS}/${ids.sven}`)).status, 200)
})
