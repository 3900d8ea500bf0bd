import t, { type Test } from 'tap'
import type { Client } from '../client.ts'
import { startApp } from '../helper.ts'
import { listen } from '../listen.ts'

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
  const { admin, north, both, ids, person } = await withSales(t)
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
  const reader = await person('rea', ['sales', 'auditor'], { regions: ['north'] })
  await admin.delete(`${CUSTOMERS}/${ids.nemo}`)
  const { change } = (await admin.get('/ws/changes')).body.data.at(-1)
  const undone = await reader.send('POST', `/ws/changes/${change}/undo`, { data: {} })
  t.match(undone, { status: 403, text: /out of your reach/ }, 'who may read it may not create it')
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

t.test('streams tell who loses sight, live and later, and end with other rights', async (t) => {
  const { admin, north, both, ids } = await withSales(t)
  const start = (await admin.get('/ws/changes')).body.next
  const live = await listen(north, '?models=c.Customer')
  const other = await listen(both)
  const anna = `${CUSTOMERS}/${ids.anna}`
  await admin.post(anna, { version: 0, region: 'south' })
  await admin.post(anna, { version: 1, size: 3 })
  await admin.post(anna, { version: 2, region: 'north' })
  await live.until(2)
  await other.until(3)
  const later = await listen(north, `?since=${start}&models=c.Customer`)
  await later.until(2)
  for (const { events } of [live, later]) {
    t.strictSame(
      events.map(({ event }) => event),
      ['leave', 'update'],
    )
    t.match(events[0]?.data, { id: ids.anna, version: 0, fields: [] })
    t.notOk(Object.hasOwn(events[0]?.data ?? {}, 'record'))
    t.match(events[1]?.data, { record: { name: 'Anna', size: 3, region: 'north' } }, 'the record is whole')
  }
  t.strictSame(
    other.events.map(({ event }) => event),
    ['update', 'update', 'update'],
  )
  await admin.post('/ws/users/nora', { attributes: { regions: ['south'] } })
  t.ok(await live.ended)
  t.ok(await later.ended)
  const again = await listen(north, `?since=${start}`)
  t.equal(again.status, 410)
  other.stop()
})

t.test('records that refer to each other, and values that do not fit', async (t) => {
  const NODE = {
    type: 'object',
    properties: {
      name: { type: 'string', unique: true },
      level: { type: 'integer' },
      parent: { type: 'integer', reference: 'd.Node', onDelete: 'cascade' },
      near: { type: 'array', items: { type: 'integer', reference: 'd.Node', onDelete: 'clear' } },
      children: { inverse: 'd.Node.parent' },
      nearby: { inverse: 'd.Node.near' },
    },
    access: {
      read: [
        rule({ fieldName: 'parent.parent.name', operator: 'like', value: '$user.root' }, 'deep'),
        rule({ fieldName: 'near', operator: 'any', value: '$user.near' }, 'near'),
        rule({ fieldName: 'near.level', operator: '>', value: '$user.level' }, 'above'),
        rule(
          {
            fieldName: 'nearby',
            operator: 'some',
            criteria: { fieldName: 'level', operator: '=', value: '$user.level' },
          },
          'nearby',
        ),
        rule({ fieldName: 'children', operator: 'count', is: 'in', value: '$user.counts' }, 'parent'),
        rule({ fieldName: 'near', operator: 'count', value: 1 }, 'one'),
        rule({ fieldName: 'createdOn', operator: '<=', value: '$user.day' }, 'day'),
      ],
      create: [rule({ fieldName: 'children', operator: 'some' }, 'nobody')],
      update: ['deep'],
      delete: [],
    },
  }
  const service = await startApp(t, { models: { 'd.Node.json': NODE } })
  const admin = await service.login()
  const NODES = '/ws/rest/d.Node'
  const make = async (data: object) => (await admin.put(NODES, data)).body.data[0].id as number
  const root = await make({ name: 'Röot', level: 1 })
  const child = await make({ name: 'child', level: 2, parent: root, near: [root] })
  const leaf = await make({ name: 'leaf', level: 3, parent: child, near: [root, child] })
  const seen = async (roles: string[], attributes: object) => {
    const username = `u${Math.random()}`.replace('.', '')
    await admin.put('/ws/users', { username, roles, attributes })
    const client = await service.login(username)
    const { body } = await client.get(`${NODES}?sort=name`)
    for (const { id } of body.data) t.equal((await client.get(`${NODES}/${id}`)).status, 200, `${roles} ${id}`)
    const others = [root, child, leaf].filter((id) => !body.data.some((row: { id: number }) => row.id === id))
    for (const id of others) t.equal((await client.get(`${NODES}/${id}`)).status, 404, `${roles} not ${id}`)
    return { client, ids: body.data.map(({ id }: { id: number }) => id) }
  }
  t.strictSame((await seen(['deep'], { root: 'root' })).ids, [leaf])
  t.strictSame((await seen(['deep'], { root: ['root'] })).ids, [], 'a list where there is one value')
  t.strictSame((await seen(['deep'], { root: 5 })).ids, [], 'a number where there is a text')
  t.strictSame((await seen(['near'], { near: child })).ids, [leaf], 'one value where there is a list')
  t.strictSame((await seen(['near'], { near: [root, 99] })).ids, [child, leaf])
  t.strictSame((await seen(['near'], { near: [] })).ids, [])
  t.strictSame((await seen(['above'], { level: 1 })).ids, [leaf])
  t.strictSame((await seen(['nearby'], { level: 3 })).ids, [child, root])
  t.strictSame((await seen(['parent'], { counts: [1] })).ids, [child, root])
  t.strictSame((await seen(['one'], {})).ids, [child])
  t.strictSame((await seen(['day'], { day: '9999-01-01T00:00:00Z' })).ids, [child, leaf, root])
  const { client: deep } = await seen(['deep'], { root: 'RÖOT' })
  const { client: above } = await seen(['above'], { level: 1 })
  const { client: one } = await seen(['one'], {})
  t.match(await deep.post(`${NODES}/${child}`, { version: 0, level: 9 }), {
    body: { data: [{ id: child, version: 1 }] },
  })
  const solo = await make({ name: 'solo', near: [leaf] })
  await admin.delete(`${NODES}/${solo}`)
  for (const client of [above, one])
    t.match((await client.get(`${NODES}/deleted`)).body, { total: 1, data: [{ id: solo }] })
  await admin.delete(`${NODES}/${root}`)
  t.match(
    (await deep.get(`${NODES}/deleted`)).body,
    { total: 1, data: [{ id: leaf }] },
    'what it was found by is deleted too',
  )
  t.match(await deep.get(`${NODES}/${leaf}/history`), { status: 200 })
  t.match(await deep.get(`${NODES}/${child}/history`), { status: 404 })
  const nameless = await make({ parent: await make({ parent: await make({}) }) })
  t.equal((await deep.get(`${NODES}/${nameless}`)).status, 404)
  await admin.delete(`${NODES}/${root}/history`)
  t.match((await deep.get(`${NODES}/deleted`)).body, { total: 0 }, 'what it was found by is forgotten')
  await admin.delete(`${NODES}/${leaf}/history`)
  t.match((await deep.get(`${NODES}/deleted`)).body, { total: 0 }, 'of what was forgotten nobody knows whose it was')
  t.match(await deep.get(`${NODES}/${leaf}/history`), { status: 404 })
  await admin.put(NODES, { name: 'kept', parent: await make({ name: 'p2', parent: await make({ name: 'root 2' }) }) })
  t.match((await deep.get('/ws/changes')).body.data.at(-1), { operation: 'create', fields: ['name', 'parent'] })
  const { client: parent } = await seen(['parent'], { counts: [0, 1] })
  const bare = await make({ name: 'bare' })
  await admin.delete(`${NODES}/${bare}`)
  t.match((await parent.get(`${NODES}/deleted`)).body.data[0], { id: bare }, 'nobody refers to what is deleted')
  const merging = { data: { version: 0, level: 5 }, merge: true }
  const sent = await deep.send('POST', `${NODES}/${await make({ name: 'blind' })}`, merging)
  t.match(sent.body, { data: [{ version: 1 }], merged: [] })
  t.notOk('name' in sent.body.data[0])
  await admin.put('/ws/users', { username: 'nobody', roles: ['nobody'] })
  const nobody = await service.login('nobody')
  const file = await nobody.send('POST', `${NODES}/import`, 'name\nx\n', { 'content-type': 'text/csv' })
  t.match(file, { status: 403, text: /Line 2:/ }, 'what depends on other rows is checked when it is written')
})

t.test('a value that is taken is not told about records out of reach', async (t) => {
  const { north, both, ids } = await withSales(t)
  const out = { status: 403, body: { code: 'FORBIDDEN' } }
  t.match(await north.put(CUSTOMERS, { name: 'Sven', region: 'south' }), out)
  t.match(
    await north.put(CUSTOMERS, { name: 'Sven', region: 'north' }),
    { status: 409 },
    'one that is within reach is told',
  )
  t.match(await north.post(`${CUSTOMERS}/${ids.anna}`, { version: 0, name: 'Sven', region: 'south' }), out)
  t.match(await north.post(`${CUSTOMERS}/${ids.anna}`, { version: 0, name: 'Sven' }), { status: 409 })
  t.match(await both.put(ORDERS, { number: 1, customer: ids.sven }), { status: 409 })
  const twice = [
    { update: 'c.Customer', data: { id: ids.anna, version: 0, size: 7 } },
    { delete: 'c.Customer', id: ids.anna },
  ]
  t.match(
    await north.send('POST', '/ws/batch', { data: twice }),
    { status: 200 },
    'what is deleted at the end has no outcome',
  )
})

t.test('a repeated request is answered with what one may read now', async (t) => {
  const { admin, north, ids } = await withSales(t)
  const order = (number: number, key: string) => () =>
    north.send('PUT', ORDERS, { data: { number, customer: ids.anna } }, { 'idempotency-key': key })
  const made = (await order(77, 'k1')()).body.data[0]
  const changing = { data: { version: 0, total: '4' }, merge: true }
  const merge = () => north.send('POST', `${ORDERS}/${made.id}`, changing, { 'idempotency-key': 'k2' })
  t.match((await merge()).body, { data: [{ number: 77, total: '4' }], merged: [] })
  t.match((await order(77, 'k1')()).body.data, [{ number: 77, total: null }])
  await admin.post(`${CUSTOMERS}/${ids.anna}`, { version: 0, region: 'south' })
  t.strictSame((await order(77, 'k1')()).body.data, [{ id: made.id, version: 0 }])
  t.match((await merge()).body, { data: [{ id: made.id, version: 1 }], merged: [] })
  t.notOk('number' in (await merge()).body.data[0])
})

t.test('what fails for one does not hold up the others', async (t) => {
  const { service, admin, north, ids } = await withSales(t)
  const { storage } = service
  const all = await listen(admin)
  const some = await listen(north)
  const { search } = storage
  Object.assign(storage, { search: () => Promise.reject(new Error('not now')) })
  await admin.put(ORDERS, { number: 55, customer: ids.anna })
  t.match(await all.until(1), [{ event: 'create', data: { record: { number: 55 } } }])
  Object.assign(storage, { search })
  t.match(await some.until(1), [{ event: 'create', data: { record: { number: 55 } } }])
  all.stop()
  some.stop()
})

t.test('rights that change in the middle of a page', async (t) => {
  const { service, admin, north } = await withSales(t)
  const { storage } = service
  const { readSettled } = storage
  let isFirst = true
  Object.assign(storage, {
    readSettled: async () => {
      if (isFirst) {
        isFirst = false
        await admin.post('/ws/users/nora', { attributes: { regions: ['east'] } })
      }
      return readSettled.call(storage)
    },
  })
  t.match(await north.get('/ws/changes?since=1'), { status: 410, body: { code: 'CHANGES_GONE' } })
})

t.test('what is not kept is compared as it is now', async (t) => {
  const { admin, north, ids } = await withSales(t)
  const anna = `${CUSTOMERS}/${ids.anna}`
  await admin.post(anna, { version: 0, size: 2 })
  await admin.delete(`${CUSTOMERS}/${ids.anna}/history`)
  const { data } = (await north.get('/ws/changes?models=c.Customer')).body
  t.strictSame(
    data.map(({ id, operation }: { id: number; operation: string }) => `${id} ${operation}`),
    [`${ids.anna} create`, `${ids.anna} update`, `${ids.anna} forget`],
  )
})

t.test('many deleted records', async (t) => {
  const { admin, north } = await withSales(t)
  const data = Array.from({ length: 120 }, (_, nth) => ({
    create: 'c.Customer',
    data: { name: `d${nth}`, region: nth === 0 ? 'north' : 'west' },
  }))
  const made = (await admin.send('POST', '/ws/batch', { data })).body.data
  await admin.send('POST', '/ws/batch', { data: made.map(({ id }: { id: number }) => ({ delete: 'c.Customer', id })) })
  t.match((await north.get(`${CUSTOMERS}/deleted`)).body, { total: 1, data: [{ name: 'd0' }] })
})

t.test('a reference to a model of which no history is kept', async (t) => {
  const PLACE = { type: 'object', properties: { name: { type: 'string' } }, history: false }
  const read = [rule({ fieldName: 'place.name', operator: '=', value: 'x' }, '*')]
  const THING = {
    type: 'object',
    properties: { place: { type: 'integer', reference: 'p.Place', onDelete: 'cascade' } },
    access: { read, create: [], update: [], delete: [] },
  }
  const service = await startApp(t, { models: { 'p.Place.json': PLACE, 'p.Thing.json': THING } })
  const admin = await service.login()
  await admin.put('/ws/users', { username: 'ann', roles: [] })
  const ann = await service.login('ann')
  await admin.put('/ws/rest/p.Place', { name: 'x' })
  await admin.put('/ws/rest/p.Thing', { place: 1 })
  t.equal((await ann.get('/ws/rest/p.Thing/1')).status, 200)
  await admin.delete('/ws/rest/p.Place/1')
  t.match((await ann.get('/ws/rest/p.Thing/deleted')).body, { total: 0 }, 'nobody knows what it was')
})
