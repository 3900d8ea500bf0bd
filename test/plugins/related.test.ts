import t from 'tap'
import { StorageFault } from '../../src/storage/storage.ts'
import { type Client, ok, PASSWORD, type Row } from '../client.ts'
import { logSink, startApp } from '../helper.ts'

const text = { type: 'string' }
const whole = { type: 'integer' }

const MODELS = {
  'shop.Order.json': {
    type: 'object',
    properties: {
      code: { ...text, unique: true },
      customer: { ...whole, reference: 'shop.Customer' },
      lines: { inverse: 'shop.Line.order', title: 'Lines' },
    },
    required: ['code'],
    nameField: 'code',
  },
  'shop.Line.json': {
    type: 'object',
    properties: {
      order: { ...whole, reference: 'shop.Order', onDelete: 'cascade' },
      product: text,
      qty: { ...whole, minimum: 1 },
      notes: { inverse: 'shop.Note.line' },
    },
    required: ['order', 'qty'],
  },
  'shop.Note.json': {
    type: 'object',
    properties: { line: { ...whole, reference: 'shop.Line', onDelete: 'cascade' }, text },
    access: { read: ['*'], create: ['*'], update: ['*'], delete: ['*'] },
  },
  'shop.Customer.json': {
    type: 'object',
    properties: {
      name: text,
      city: text,
      parent: { ...whole, reference: 'shop.Customer' },
      orders: { inverse: 'shop.Order.customer' },
      branches: { inverse: 'shop.Customer.parent' },
      visits: { inverse: 'shop.Visit.customer' },
    },
  },
  'shop.Visit.json': {
    type: 'object',
    properties: { customer: { ...whole, reference: 'shop.Customer' }, rating: whole },
    access: { read: ['boss', { role: 'sales', where: 'own' }], create: ['sales'] },
  },
}

const ORDERS = '/ws/rest/shop.Order'
const LINES = '/ws/rest/shop.Line'
const CUSTOMERS = '/ws/rest/shop.Customer'

/** Three customers; the first has two orders, of two lines and of none, the second one order of one line. */
async function fill(admin: Client) {
  for (const [name, city] of [
    ['Ada', 'Oslo'],
    ['Bob', 'Bergen'],
    ['Eve', 'Oslo'],
  ])
    await ok(admin.put(CUSTOMERS, { name, city }))
  for (const [code, customer] of [
    ['A', 1],
    ['B', 1],
    ['C', 2],
  ])
    await ok(admin.put(ORDERS, { code, customer }))
  for (const [order, product, qty] of [
    [1, 'tea', 2],
    [1, 'milk', 9],
    [3, 'tea', 5],
  ])
    await ok(admin.put(LINES, { order, product, qty }))
}

t.test('the other side of a reference', async (t) => {
  const service = await startApp(t, { models: MODELS })
  const admin = await service.login()
  await fill(admin)
  const ids = async (path: string, query: string) =>
    (await ok(admin.get(`${path}?${query}`))).data.map(({ id }: { id: number }) => id)

  await t.test('filters', async (t) => {
    for (const [query, found] of [
      ['lines.product=tea', [1, 3]],
      ['lines.product=tea&lines.qty[gt]=4', [3]],
      ['lines.product=milk&lines.qty[gt]=4', [1]],
      ['lines.product=tea&lines.qty=9', []],
      ['lines.product[ne]=tea', [1]],
      ['lines.id=3', [3]],
      ['lines[count]=0', [2]],
      ['lines[count]=1', [3]],
      ['lines[count][ne]=1', [1, 2]],
      ['lines[count][gt]=0', [1, 3]],
      ['lines[count][gte]=2', [1]],
      ['lines[count][gte]=0', [1, 2, 3]],
      ['lines[count][lt]=2', [2, 3]],
      ['lines[count][lte]=0', [2]],
      ['lines[count][between]=0,1', [2, 3]],
      ['lines[count][between]=1,2', [1, 3]],
      ['lines[count][in]=0,2', [1, 2]],
      ['lines[count][in]=7', []],
      ['lines[count][notIn]=0', [1, 3]],
      ['lines[count][null]=true', []],
      ['lines[count][null]=false', [1, 2, 3]],
      ['customer.orders[count]=2', [1, 2]],
      ['customer.orders.lines.product=tea', [1, 2, 3]],
      [`or=${encodeURIComponent('lines.qty=9&lines[count]=0')}`, [1, 2]],
      ['code=A&lines.product=tea', [1]],
    ] as [string, number[]][])
      t.strictSame(await ids(ORDERS, query), found, query)
    for (const [query, found] of [
      ['orders.lines.product=tea', [1, 2]],
      ['orders.lines[count]=0', [1]],
      ['orders.code=B&orders.lines.product=tea', []],
      ['orders.code=A&orders.lines.product=tea', [1]],
      ['orders[count]=0', [3]],
    ] as [string, number[]][])
      t.strictSame(await ids(CUSTOMERS, query), found, query)
  })

  await t.test('filters in the body of a search', async (t) => {
    const tea = { fieldName: 'product', operator: '=', value: 'tea' }
    const many = { fieldName: 'qty', operator: '>', value: 4 }
    for (const [criterion, found] of [
      [{ fieldName: 'lines', operator: 'some' }, [1, 3]],
      [{ fieldName: 'lines', operator: 'none' }, [2]],
      [{ fieldName: 'lines', operator: 'some', criteria: tea }, [1, 3]],
      [{ fieldName: 'lines', operator: 'none', criteria: tea }, [2]],
      [{ fieldName: 'lines', operator: 'some', criteria: { operator: 'and', criteria: [tea, many] } }, [3]],
      [{ fieldName: 'lines', operator: 'none', criteria: { operator: 'and', criteria: [tea, many] } }, [1, 2]],
      [{ fieldName: 'lines', operator: 'count', value: 0 }, [2]],
      [{ fieldName: 'lines', operator: 'count', is: '>=', value: 2 }, [1]],
      [{ fieldName: 'lines', operator: 'count', is: 'between', value: 1, value2: 2 }, [1, 3]],
      [{ fieldName: 'lines', operator: 'count', is: 'in', value: [0, 1] }, [2, 3]],
      [{ fieldName: 'lines', operator: 'count', criteria: tea, value: 1 }, [1, 3]],
      [{ fieldName: 'lines', operator: 'count', criteria: tea, is: '!=', value: 1 }, [2]],
      [{ fieldName: 'lines.qty', operator: '=', value: 5 }, [3]],
      [
        { fieldName: 'customer', operator: 'some', criteria: { fieldName: 'city', operator: '=', value: 'Oslo' } },
        [1, 2],
      ],
      [{ fieldName: 'customer', operator: 'none', criteria: { fieldName: 'city', operator: '=', value: 'Oslo' } }, [3]],
      [{ fieldName: 'customer', operator: 'count', value: 1 }, [1, 2, 3]],
      [{ fieldName: 'customer', operator: 'count', value: 0 }, []],
      [{ fieldName: 'customer.orders', operator: 'count', value: 2 }, [1, 2]],
      [
        { fieldName: 'customer.orders', operator: 'none', criteria: { fieldName: 'code', operator: '=', value: 'B' } },
        [3],
      ],
    ] as [object, number[]][]) {
      const body = { data: { criteria: [criterion] } }
      const { data } = await ok(admin.send('POST', `${ORDERS}/search`, body))
      t.strictSame(
        data.map(({ id }: { id: number }) => id),
        found,
        JSON.stringify(criterion),
      )
    }
  })

  await t.test('what cannot be asked', async (t) => {
    for (const [query, message] of [
      ['lines=1', /"lines" of shop.Order stands for other records/],
      ['lines[gt]=1', /stands for other records/],
      ['lines[count][like]=1', /for texts/],
      ['lines[count][some]=1', /"lines\[count\]\[some\]" has an unknown operator "some"/],
      ['lines[count]=x', /must be a whole number/],
      ['lines.nothing=1', /"lines.nothing": shop.Line has no field "nothing"/],
      ['code[count]=1', /unknown operator "count"/],
      ['typo[count]=1', /no field "typo"/],
      ['sort=lines', /stands for other records/],
      ['sort=lines.qty', /leads to several records, by "lines"/],
      ['fields=lines', /stands for other records/],
      ['expand=code', /"code" of shop.Order is not a reference/],
      ['lines.order.lines.order.code=A', /follows more than 3/],
    ] as [string, RegExp][]) {
      const { status, body } = await admin.get(`${ORDERS}?${query}`)
      t.equal(status, 400, query)
      t.match(body.message, message, query)
    }
    const some = (criteria: unknown): object => ({ fieldName: 'lines', operator: 'some', criteria })
    let deep: object = { fieldName: 'code', operator: '=', value: 'A' }
    for (let level = 0; level < 5; level++) deep = some({ fieldName: 'order', operator: 'some', criteria: deep })
    let long: object = { fieldName: 'code', operator: '=', value: 'A' }
    for (let level = 0; level < 4; level++)
      long = { fieldName: 'lines.order.lines.order', operator: 'some', criteria: long }
    for (const [criterion, message] of [
      [{ fieldName: 'lines', operator: 'some', value: 1 }, /unknown part "value"/],
      [{ fieldName: 'lines', operator: 'count', is: 'some', value: 1 }, /criteria\[0\].is must be one of/],
      [{ fieldName: 'lines', operator: 'count', value: 1, more: 1 }, /unknown part "more"/],
      [{ fieldName: 'code', operator: 'some' }, /"code" of shop.Order is not a reference/],
      [{ fieldName: 'lines', operator: '=' }, /stands for other records/],
      [some(1), /criteria\[0\].criteria must be an object/],
      [deep, /nested deeper/],
      [long, /more than 12 references/],
    ] as [object, RegExp][]) {
      const { status, body } = await admin.send('POST', `${ORDERS}/search`, { data: { criteria: [criterion] } })
      t.equal(status, 400, JSON.stringify(criterion))
      t.match(body.message, message, JSON.stringify(criterion))
    }
  })

  await t.test('expand', async (t) => {
    const { data } = await ok(admin.get(`${ORDERS}?expand=lines,customer`))
    t.match(data, [
      { id: 1, customer: { name: 'Ada' }, lines: { total: 2, data: [{ id: 1, product: 'tea' }, { id: 2 }] } },
      { id: 2, lines: { total: 0, data: [] } },
      { id: 3, lines: { total: 1, data: [{ id: 3, order: 3, version: 0, qty: 5 }] } },
    ])
    t.notOk('next' in data[0].lines)
    t.notMatch(JSON.stringify(data), /__/)
    t.notOk('lines' in (await ok(admin.get(`${ORDERS}/1`))).data[0], 'only if asked for')
    const [deep] = (await ok(admin.get(`${CUSTOMERS}/1?expand=orders.lines.order,branches`))).data
    t.match(deep.orders, {
      total: 2,
      data: [{ code: 'A', lines: { total: 2, data: [{ order: { code: 'A' } }, {}] } }, {}],
    })
    t.strictSame(deep.branches, { total: 0, data: [] })
    const [one] = (await ok(admin.get(`${LINES}/1?expand=order.lines`))).data
    t.equal(one.order.lines.total, 2)
  })

  await t.test('more than are shown', async (t) => {
    const operations = Array.from({ length: 100 }, (_, n) => ({ create: 'shop.Line', data: { order: 2, qty: n + 1 } }))
    await ok(admin.send('POST', '/ws/batch', { data: operations }))
    const [, { lines }] = (await ok(admin.get(`${ORDERS}?expand=lines`))).data
    t.equal(lines.total, 100)
    t.equal(lines.data.length, 40)
    const rest = await ok(admin.get(`${LINES}?order=2&limit=100&after=${lines.next}`))
    t.equal(rest.data.length, 60)
    t.equal(rest.data[0].id, lines.data[39].id + 1)
  })

  const meta = await ok(admin.get('/ws/meta/fields/shop.Order'))
  t.strictSame(meta.data[0].inverses, [{ name: 'lines', title: 'Lines', model: 'shop.Line', field: 'order' }])
})

t.test('large related records: a page ends where it is full', async (t) => {
  const service = await startApp(t, { models: MODELS })
  const admin = await service.login()
  await fill(admin)
  const product = 'x'.repeat(900_000)
  for (const order of [1, 2, 3]) for (let n = 0; n < 8; n++) await ok(admin.put(LINES, { order, product, qty: 1 }))
  const seen: number[] = []
  let next = ''
  do {
    const page = await ok(admin.get(`${ORDERS}?expand=lines${next && `&after=${next}`}`))
    for (const { id, lines } of page.data) {
      seen.push(id)
      let { total, data } = lines
      for (let more = lines.next; more !== undefined; ) {
        const rest = await ok(admin.get(`${LINES}?order=${id}&after=${more}`))
        data = [...data, ...rest.data]
        more = rest.next
      }
      t.equal(data.length, total, `all of ${id}`)
    }
    next = page.next ?? ''
  } while (next)
  t.strictSame(seen, [1, 2, 3])
  const [customer] = (await ok(admin.get(`${CUSTOMERS}/1?expand=orders.lines`))).data
  t.equal(customer.orders.total, 2)
  t.ok(customer.orders.data.length === 2 || customer.orders.next)
})

t.test('numbers of related records, in a table of the same size and in a far larger one', async (t) => {
  const service = await startApp(t, { models: MODELS })
  const admin = await service.login()
  const { id: customer } = (await ok(admin.put(CUSTOMERS, { name: 'Ada' }))).data[0]
  const wanted = [0, 1, 2, 12, 15]
  for (const code of wanted) await ok(admin.put(ORDERS, { code: `${code}`, customer }))
  const numbers = [0, 0, 0, 0, 0]
  const OPERATORS: Record<string, (number: number, values: number[]) => boolean> = {
    '': (number, [value = 0]) => number === value,
    ne: (number, [value = 0]) => number !== value,
    gt: (number, [value = 0]) => number > value,
    gte: (number, [value = 0]) => number >= value,
    lt: (number, [value = 0]) => number < value,
    lte: (number, [value = 0]) => number <= value,
    in: (number, values) => values.includes(number),
    notIn: (number, values) => !values.includes(number),
    between: (number, [first = 0, second = 0]) => number >= first && number <= second,
  }
  const check = async () => {
    for (const [operator, isSo] of Object.entries(OPERATORS))
      for (const values of [
        [0, 0],
        [1, 5],
        [2, 12],
        [12, 1],
        [13, 15],
        [5000, 6000],
      ]) {
        const sent = ['in', 'notIn', 'between'].includes(operator) ? values : values.slice(0, 1)
        const found = numbers.flatMap((number, nth) => (isSo(number, sent) ? [nth + 1] : []))
        const query = `lines[count]${operator && `[${operator}]`}=${sent}`
        const { total, data } = await ok(admin.get(`${ORDERS}?${query}&sort=-id&limit=2`))
        const ids = data.map(({ id }: { id: number }) => id)
        t.strictSame([total, ids], [found.length, found.toReversed().slice(0, 2)], query)
      }
    const some = { criteria: [{ fieldName: 'lines', operator: 'some' }] }
    t.equal((await ok(admin.post(`${ORDERS}/search`, some))).total, numbers.filter(Boolean).length)
    const through = `customer.orders[count]=5&customer.orders.lines[count][gte]=1`
    t.equal((await ok(admin.get(`${ORDERS}?${through}`))).total, numbers.some(Boolean) ? 5 : 0)
  }
  await check()
  for (const [nth, many] of wanted.entries())
    for (let line = 0; line < many; line++) {
      await ok(admin.put(LINES, { order: nth + 1, qty: 1 }))
      numbers[nth] = line + 1
    }
  await check()
})

t.test('records out of reach are not there', async (t) => {
  const service = await startApp(t, { models: MODELS })
  const admin = await service.login()
  await fill(admin)
  for (const [username, roles] of [
    ['bob', ['sales']],
    ['eve', ['sales']],
    ['kim', []],
  ] as [string, string[]][])
    await ok(admin.put('/ws/users', { username, password: PASSWORD, roles }))
  const [bob, eve, kim] = await Promise.all(['bob', 'eve', 'kim'].map((name) => service.login(name)))
  for (const rating of [1, 2, 3]) await ok((bob as Client).put('/ws/rest/shop.Visit', { customer: 1, rating }))
  await ok((eve as Client).put('/ws/rest/shop.Visit', { customer: 1, rating: 5 }))
  const visits = async (client: Client | undefined) =>
    (await ok((client as Client).get(`${CUSTOMERS}/1?expand=visits`))).data[0].visits
  t.match(await visits(admin), { total: 4 })
  t.match(await visits(bob), { total: 3, data: [{ rating: 1 }, { rating: 2 }, { rating: 3 }] })
  t.match(await visits(eve), { total: 1, data: [{ rating: 5 }] })
  t.strictSame(await visits(kim), { total: 0, data: [] })
  for (const [client, query, total] of [
    [bob, 'visits.rating=5', 0],
    [eve, 'visits.rating=5', 1],
    [eve, 'visits[count]=1', 1],
    [bob, 'visits[count]=3', 1],
    [admin, 'visits[count]=4', 1],
  ] as [Client, string, number][])
    t.equal((await ok(client.get(`${CUSTOMERS}?${query}`))).total, total, query)
  for (const query of ['visits.rating=5', 'visits[count]=0', 'orders.customer.visits[count]=0'])
    t.equal((await (kim as Client).get(`${CUSTOMERS}?${query}`)).status, 403, query)
  const described = (await ok((kim as Client).get('/ws/meta/fields/shop.Customer'))).data[0].inverses
  t.strictSame(
    described.map(({ name }: { name: string }) => name),
    ['orders', 'branches'],
  )
})

t.test('written together', async (t) => {
  const service = await startApp(t, { models: MODELS, log: logSink().stream })
  const admin = await service.login()
  const lines = async (id: number) =>
    (await ok(admin.get(`${LINES}?order=${id}&fields=product,qty`))).data.map(
      ({ product, qty }: Row) => `${qty} ${product}`,
    )
  const [made] = (
    await ok(
      admin.put(ORDERS, {
        code: 'A',
        lines: [
          { product: 'tea', qty: 2 },
          { product: 'milk', qty: 5, order: null },
        ],
      }),
    )
  ).data
  t.match(made, {
    id: 1,
    version: 0,
    code: 'A',
    lines: {
      data: [
        { id: 1, qty: 2, order: 1 },
        { id: 2, qty: 5 },
      ],
    },
  })
  const { data: changes } = await ok(admin.get('/ws/changes?limit=10'))
  t.equal(new Set(changes.map(({ batch }: Row) => batch)).size, 1, 'one batch')
  t.equal(typeof changes[0].batch, 'number')

  const [changed] = (
    await ok(
      admin.send('POST', `${ORDERS}/1`, {
        data: {
          version: 0,
          lines: {
            create: [{ product: 'rice', qty: 1 }],
            update: [{ id: 1, version: 0, qty: 3, order: 1 }],
            delete: [{ id: 2, version: 0 }],
          },
        },
      }),
    )
  ).data
  t.match(changed, {
    version: 1,
    lines: {
      data: [
        { id: 1, version: 1, qty: 3 },
        { id: 3, qty: 1 },
      ],
    },
  })
  t.strictSame(await lines(1), ['3 tea', '1 rice'])
  await ok(admin.put(ORDERS, { code: 'B', lines: [{ qty: 7 }] }))
  await ok(admin.put(ORDERS, { code: 'empty', lines: [] }))

  await t.test('a fault names its place, and nothing is written', async (t) => {
    const before = await ok(admin.get(`${LINES}?limit=100`))
    for (const [data, code, place] of [
      [{ code: 'X', lines: [{ qty: 1 }, { qty: 0 }] }, 422, 'lines.1.qty'],
      [{ code: 'X', lines: [{ product: 'tea' }] }, 422, 'lines.0.qty'],
      [{ code: 'X', lines: [{ qty: 1, order: 1 }] }, 422, 'lines.0.order'],
      [{ code: 'X', lines: [{ qty: 1, notes: [] }] }, 422, 'lines.0.notes'],
      [{ code: 'X', lines: { qty: 1 } }, 422, 'lines'],
      [{ code: 'X', lines: [1] }, 422, 'lines.0'],
      [{ lines: [{ qty: 1 }] }, 422, 'code'],
      [{ code: 'A', lines: [{ qty: 1 }] }, 409, 'code'],
    ] as [object, number, string][]) {
      const { status, body } = await admin.put(ORDERS, data)
      t.equal(status, code, JSON.stringify(data))
      t.ok(place in (body.errors ?? {}), `${place}: ${JSON.stringify(body)}`)
      t.notOk('at' in body)
    }
    for (const [data, code, place] of [
      [{ version: 1, lines: { create: [{ qty: 1 }, { qty: 'x' }] } }, 422, 'lines.create.1.qty'],
      [{ version: 1, lines: { update: [{ id: 1, qty: 1 }] } }, 422, 'lines.update.0.version'],
      [{ version: 1, lines: { update: [{ version: 1, qty: 1 }] } }, 422, 'lines.update.0.id'],
      [{ version: 1, lines: { update: [{ id: 4, version: 0, qty: 1 }] } }, 422, 'lines.update.0.id'],
      [{ version: 1, lines: { delete: [{ id: 4, version: 0 }] } }, 422, 'lines.delete.0.id'],
      [{ version: 1, lines: { update: [{ id: 1, version: 1, order: 2 }] } }, 422, 'lines.update.0.order'],
      [{ version: 1, lines: { update: [{ id: 1, version: 0, qty: 1 }] } }, 409, 'lines.update.0'],
      [{ version: 1, lines: { delete: [{ id: 99, version: 0 }] } }, 404, 'lines.delete.0'],
      [{ version: 1, lines: { delete: [{ id: 1, version: 1, more: 1 }] } }, 422, 'lines.delete.0.more'],
      [
        { version: 1, lines: { delete: [{ id: 1, version: 1, delete: 'shop.Customer' }] } },
        422,
        'lines.delete.0.delete',
      ],
      [{ version: 1, lines: { update: [{ id: 1, version: 1, order: null }] } }, 422, 'lines.update.0.order'],
      [{ version: 1, lines: { update: [{ id: '1', version: 1 }] } }, 422, 'lines.update.0.id'],
      [{ version: 1, lines: { update: [{ id: 1, version: 2, qty: 1 }] } }, 409, 'lines.update.0'],
      [{ version: 1, lines: { update: [1, 1].map((id) => ({ id, version: 1 })) } }, 422, 'lines.update.1.id'],
      [{ version: 1, lines: { create: [{ qty: 1, order: { $ref: 'the record' } }] } }, 422, 'lines.create.0.order'],
      [{ version: 1, lines: [{ qty: 1 }] }, 422, 'lines'],
      [{ version: 1, lines: null }, 422, 'lines'],
      [{ version: 1, lines: { total: 1, more: [] } }, 422, 'lines'],
    ] as [object, number, string][]) {
      const { status, body } = await admin.send('POST', `${ORDERS}/1`, { data })
      t.equal(status, code, `${JSON.stringify(data)} ${JSON.stringify(body)}`)
      t.ok(place in (body.errors ?? {}), `${place}: ${JSON.stringify(body)}`)
    }
    const all = await admin.put(ORDERS, { code: 1, lines: [{ qty: 'x' }, { qty: 1 }, { qty: 0, product: 7 }] })
    t.strictSame(
      Object.keys(all.body.errors ?? {}),
      ['code', 'lines.0.qty', 'lines.2.product', 'lines.2.qty'],
      'all faults at once',
    )
    const unknown = await admin.put(ORDERS, { code: 1, lines: [{ qty: 1 }, { qty: 0 }] })
    t.strictSame(Object.keys(unknown.body.errors ?? {}), ['code', 'lines.1.qty'], 'nothing about the right line')
    const named = JSON.parse('{"code":"P","__proto__":"x","lines":[{"qty":1},{"qty":0}]}')
    const odd = await admin.send('PUT', ORDERS, { data: named })
    t.ok(Object.hasOwn(odd.body.errors ?? {}, '__proto__'))
    const itself = [{ create: 'shop.Line', as: 'a', data: { qty: 1, order: { $ref: 'a' } } }]
    t.match((await admin.post('/ws/batch', itself)).body, { errors: { order: /no earlier operation/ } })
    const wrong = await admin.put(ORDERS, { code: 'X', lines: Array.from({ length: 300 }, () => ({ qty: 'x' })) })
    t.equal(wrong.status, 422)
    // The first one is invalid, and the second one has no version: the first one is told.
    const operations = [
      { create: 'shop.Line', data: {} },
      { update: 'shop.Line', data: { id: 1, qty: 1 } },
    ]
    t.match((await admin.post('/ws/batch', operations)).body, { code: 'VALIDATION_FAILED', at: 0 })
    const refused = async (data: object, more: object = {}) =>
      (await admin.send('POST', `${ORDERS}/1`, { data, ...more })).status
    t.equal(await refused({ lines: { create: [{ qty: 1 }] } }), 400, 'no version')
    t.equal(await refused({ version: 0, lines: { create: [{ qty: 1 }] } }), 409, 'an old version')
    t.equal(await refused({ version: 1, id: 2, lines: {} }), 400, 'another id')
    t.equal((await admin.send('POST', `${ORDERS}/99`, { data: { version: 0, lines: {} } })).status, 404)
    const proto = await admin.send('POST', `${ORDERS}/1`, '{"data":{"version":1,"lines":{},"__proto__":{"code":"x"}}}')
    t.equal(proto.status, 422)
    const matched = { 'if-match': '"1"' }
    const stale = { data: { lines: { update: [{ id: 1, version: 0, qty: 1 }] } } }
    t.equal((await admin.send('POST', `${ORDERS}/1`, stale, matched)).status, 409, 'the line is stale, not the order')
    const old = { data: { lines: {} } }
    t.equal((await admin.send('POST', `${ORDERS}/1`, old, { 'if-match': '"0"' })).status, 412)
    t.equal(await refused({ version: 1, lines: {} }, { merge: true }), 400, 'no merge')
    const many = Array.from({ length: 1000 }, () => ({ qty: 1 }))
    t.equal(await refused({ version: 1, lines: { create: many } }), 400, 'too many')
    t.strictSame(await ok(admin.get(`${LINES}?limit=100`)), before)
    t.equal((await ok(admin.get(`${ORDERS}/1`))).data[0].version, 1)
  })

  t.match(await ok(admin.send('POST', `${ORDERS}/1`, { data: { version: 1, lines: { total: 9, data: [{}] } } })), {
    data: [{ version: 2 }],
  })

  await t.test('sent again with the same key', async (t) => {
    const send = (url: string, method: 'PUT' | 'POST', data: object, key: string) =>
      admin.send(method, url, { data }, { 'idempotency-key': key })
    const create = () => send(ORDERS, 'PUT', { code: 'K', lines: [{ qty: 1 }, { qty: 2 }] }, 'one')
    const first = await ok(create())
    t.strictSame(await ok(create()), first)
    const { id, lines: written } = first.data[0]
    const drop = () =>
      send(
        `${ORDERS}/${id}`,
        'POST',
        { version: 0, lines: { delete: [{ id: written.data[0].id, version: 0 }] } },
        'two',
      )
    t.strictSame(await ok(drop()), await ok(drop()))
    t.strictSame(await lines(id), ['2 null'])
  })
})

t.test('records that refer to each other', async (t) => {
  const models = {
    'a.Order.json': {
      type: 'object',
      properties: {
        code: text,
        main: { ...whole, reference: 'a.Line', onDelete: 'clear' },
        last: { ...whole, reference: 'a.Line', onDelete: 'cascade' },
        lines: { inverse: 'a.Line.order' },
        also: { inverse: 'a.Line.other' },
        fixed: { inverse: 'a.Fixed.order' },
      },
    },
    'a.Line.json': {
      type: 'object',
      properties: {
        order: { ...whole, reference: 'a.Order', minimum: 1 },
        other: { ...whole, reference: 'a.Order' },
        code: { ...text, unique: true },
      },
      access: { read: ['*'], create: ['*'], update: ['*'], delete: ['*'] },
    },
    'a.Fixed.json': {
      type: 'object',
      properties: { order: { ...whole, reference: 'a.Order', readOnly: true } },
      access: { update: ['blind'] },
    },
  }
  const service = await startApp(t, { models })
  const admin = await service.login()
  const send = (id: number, data: object) => admin.send('POST', `/ws/rest/a.Order/${id}`, { data })
  await ok(
    admin.put('/ws/rest/a.Order', { lines: [{ code: 'x' }, { code: 'y' }], also: [], fixed: { total: 0, data: [] } }),
  )
  await ok(send(1, { version: 0, main: 1 }))
  const [cleared] = (await ok(send(1, { version: 1, lines: { delete: [{ id: 1, version: 0 }] } }))).data
  t.match(cleared, { version: 3, main: null, lines: { data: [] } }, 'as it is after that')
  t.match((await ok(admin.get('/ws/rest/a.Order/1'))).data, [{ version: 3, main: null }])
  await ok(send(1, { version: 3, also: { create: [{ code: 'y' }] }, lines: { delete: [{ id: 2, version: 0 }] } }))
  t.match((await ok(admin.get('/ws/rest/a.Line'))).data, [{ code: 'y', order: null, other: 1 }], 'deletes come first')
  const [read] = (await ok(admin.get('/ws/rest/a.Order/1?expand=fixed,also.other'))).data
  const line = read.also.data[0]
  const { createdOn, createdBy, updatedOn, updatedBy, ...own } = line
  await ok(send(1, { ...read, also: { ...read.also, update: [own] } }))
  t.equal((await send(1, { version: 5, fixed: { create: [{}] } })).status, 422)
  const [gone] = (await ok(admin.put('/ws/rest/a.Order', { lines: [{ code: 'z' }] }))).data
  const [{ id: line3 }] = gone.lines.data
  await ok(send(gone.id, { version: 0, last: line3 }))
  const [deleted] = (await ok(send(gone.id, { version: 1, lines: { delete: [{ id: line3, version: 0 }] } }))).data
  t.match(deleted, { id: gone.id, version: 2 }, 'what was written, before it was deleted itself')
  t.equal((await admin.get(`/ws/rest/a.Order/${gone.id}`)).status, 404)

  await ok(admin.put('/ws/users', { username: 'bob', password: PASSWORD, roles: ['blind'] }))
  const bob = await service.login('bob')
  await ok(admin.put('/ws/rest/a.Fixed', {}))
  const blind = { data: { version: 5, fixed: { update: [{ id: 1, version: 0 }] } } }
  t.equal((await bob.send('POST', '/ws/rest/a.Order/1', blind)).status, 422)
})

t.test('many at once, and storage that cannot', async (t) => {
  const service = await startApp(t, { models: MODELS })
  const admin = await service.login()
  const lines = Array.from({ length: 999 }, () => ({ qty: 1 }))
  const [order] = (await ok(admin.put(ORDERS, { code: 'A', lines }))).data
  const update = order.lines.data.map(({ id, version }: Row) => ({ id, version, qty: 2 }))
  await ok(admin.send('POST', `${ORDERS}/1`, { data: { version: 0, lines: { update } } }))
  t.equal((await ok(admin.get(`${LINES}?qty=2&limit=0`))).total, 999)
  const { storage } = service
  const { write, search } = storage
  Object.assign(storage, { write: () => Promise.reject(new StorageFault('busy', 'no')) })
  t.equal((await admin.put(ORDERS, { code: 'B', lines: [{ qty: 1 }] })).status, 503)
  Object.assign(storage, { write, search: () => Promise.reject(new StorageFault('slow', 'no')) })
  t.match((await admin.get(`${ORDERS}/1?expand=lines`)).body, { code: 'FIND_TOO_SLOW', message: /"expand" of "lines"/ })
  t.match((await admin.get(`${ORDERS}/aggregate`)).body, { code: 'FIND_TOO_SLOW' })
  t.match((await admin.delete(`${ORDERS}/1?preview=true`)).body, { code: 'FIND_TOO_SLOW' })
  Object.assign(storage, { search: () => Promise.reject(new StorageFault('busy', 'no')) })
  for (const path of [`${ORDERS}/1?expand=lines`, `${ORDERS}/aggregate`]) t.equal((await admin.get(path)).status, 503)
  t.equal((await admin.delete(`${ORDERS}/1?preview=true`)).status, 503)
  Object.assign(storage, { search })
})

t.test('repeated records count each time', async (t) => {
  const models = {
    ...MODELS,
    'shop.Product.json': { type: 'object', properties: { name: text } },
    'shop.Line.json': {
      ...MODELS['shop.Line.json'],
      properties: { ...MODELS['shop.Line.json'].properties, what: { ...whole, reference: 'shop.Product' } },
    },
  }
  const service = await startApp(t, { models })
  const admin = await service.login()
  await ok(admin.put('/ws/rest/shop.Product', { name: 'x'.repeat(500_000) }))
  await ok(admin.put(CUSTOMERS, { name: 'Ada' }))
  for (const code of ['A', 'B', 'C']) {
    const lines = Array.from({ length: 40 }, () => ({ qty: 1, what: 1 }))
    await ok(admin.put(ORDERS, { code, customer: 1, lines }))
  }
  const { text: answer } = await admin.get(`${CUSTOMERS}/1?expand=orders.lines.what`)
  t.ok(answer.length < 3_000_000, `${answer.length}`)
  const [customer] = JSON.parse(answer).data
  t.equal(customer.orders.total, 3)
  t.ok(customer.orders.next)
  t.match(customer.orders.data[0].lines, { total: 40, next: String })
  const page = await admin.get(`${ORDERS}?expand=lines.what,lines.order.lines.what`)
  t.ok(page.text.length < 6_000_000, `${page.text.length}`)
})

t.test('a record with more than fits', async (t) => {
  const numbers = Array.from({ length: 20 }, (_, n) => n)
  const models = {
    'h.Hub.json': {
      type: 'object',
      properties: { name: text, ...Object.fromEntries(numbers.map((n) => [`i${n}`, { inverse: `h.Spoke.r${n}` }])) },
    },
    'h.Spoke.json': {
      type: 'object',
      properties: {
        big: text,
        ...Object.fromEntries(numbers.map((n) => [`r${n}`, { ...whole, reference: 'h.Hub' }])),
      },
    },
  }
  const service = await startApp(t, { models })
  const admin = await service.login()
  await ok(admin.put('/ws/rest/h.Hub', { name: 'x' }))
  const references = Object.fromEntries(numbers.map((n) => [`r${n}`, 1]))
  await ok(admin.put('/ws/rest/h.Spoke', { big: 'x'.repeat(950_000), ...references }))
  const expanded = await admin.get(`/ws/rest/h.Hub/1?expand=${numbers.map((n) => `i${n}`).join()}`)
  t.match([expanded.status, expanded.body.code], [413, 'BODY_TOO_LARGE'])
})

t.test('who may not write the others may not write them together', async (t) => {
  const models = {
    ...MODELS,
    'shop.Line.json': { ...MODELS['shop.Line.json'], access: { read: ['*'] } },
    'shop.Note.json': {
      type: 'object',
      properties: { line: { ...whole, reference: 'shop.Line', readOnly: true }, text },
    },
  }
  const service = await startApp(t, { models })
  const admin = await service.login()
  await ok(admin.put('/ws/users', { username: 'bob', password: PASSWORD, roles: [] }))
  const bob = await service.login('bob')
  const refused = await bob.put(ORDERS, { code: 'A', lines: [{ qty: 1 }] })
  t.equal(refused.status, 403)
  t.ok('lines.0' in refused.body.errors)
  t.equal((await ok(bob.get(ORDERS))).total, 0)
  await ok(admin.put(ORDERS, { code: 'A' }))
  const readOnly = await admin.put(LINES, { order: 1, qty: 1, notes: [{ text: 'x' }] })
  t.equal(readOnly.status, 422)
  t.match(readOnly.body.message, /read-only/)
})
