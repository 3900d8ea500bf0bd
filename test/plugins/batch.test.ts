import t from 'tap'
import { isPostgres } from '../engine.ts'
import { startApp, writeModel } from '../helper.ts'

const ORDER = { type: 'object', properties: { name: { type: 'string', unique: true } }, required: ['name'] }
const LINE = {
  type: 'object',
  properties: {
    text: { type: 'string' },
    order: { type: 'integer', reference: 'shop.Order' },
    next: { type: 'integer', reference: 'shop.Line', onDelete: 'clear' },
    secret: { type: 'string', writeOnly: true },
  },
}
const OWN = {
  type: 'object',
  properties: { text: { type: 'string' } },
  access: { read: [{ role: '*', where: 'own' }], create: ['*'], update: [{ role: '*', where: 'own' }], delete: [] },
}
const MODELS = { 'shop.Order.json': ORDER, 'shop.Line.json': LINE, 'shop.Own.json': OWN }

t.test('a batch', async (t) => {
  const app = await startApp(t, { models: MODELS })
  const admin = await app.login()
  await admin.put('/ws/users', { username: 'ann', roles: [] })
  const ann = await app.login('ann')
  const batch = (data: unknown, client = admin) => client.post('/ws/batch', data)
  const total = async (model: string) => (await admin.get(`/ws/rest/${model}?limit=0`)).body.total

  await t.test('all of it, with what earlier operations create', async (t) => {
    const { status, body } = await batch([
      { create: 'shop.Order', data: { name: 'first' }, as: 'order' },
      { create: 'shop.Line', data: { text: 'a', order: { $ref: 'order' }, secret: 's' }, as: 'line' },
      { create: 'shop.Line', data: { text: 'b', order: { $ref: 'order' }, next: { $ref: 'line' } } },
    ])
    t.equal(status, 200)
    t.match(body.data, [
      { id: 1, name: 'first', version: 0 },
      { id: 1, text: 'a', order: 1, next: null },
      { id: 2, text: 'b', order: 1, next: 1 },
    ])
    const more = await batch([
      { create: 'shop.Order', data: { name: 'second' }, as: 'new' },
      { update: 'shop.Line', data: { id: 2, version: 0, order: { $ref: 'new' } } },
      { update: 'shop.Line', data: { id: 2, version: 1, text: 'c' } },
      { delete: 'shop.Line', id: 1, version: 0 },
      { delete: 'shop.Order', id: 1 },
    ])
    t.match(more.body.data, [{ id: 2 }, { id: 2, version: 1, order: 2 }, { version: 2, text: 'c' }, 1, 1])
    t.match((await admin.get('/ws/rest/shop.Line/2')).body.data, [{ version: 3, next: null, order: 2, text: 'c' }])
  })

  await t.test('in the history it has one number', async (t) => {
    const { body } = await admin.get('/ws/changes')
    const numbers = body.data.map(({ batch: number }: { batch: number }) => number)
    t.strictSame(numbers, [1, 1, 1, 4, 4, 4, 4, 4, 4])
    await admin.put('/ws/rest/shop.Order', { name: 'alone' })
    t.notOk('batch' in (await admin.get('/ws/changes?since=9')).body.data[0])
    t.match((await admin.get('/ws/rest/shop.Line/2/history?limit=1')).body.data, [{ batch: 4, by: 'admin' }])
    const two = await Promise.all([
      batch([{ create: 'shop.Order', data: { name: 'x' } }]),
      batch([{ create: 'shop.Order', data: { name: 'y' } }]),
    ])
    t.ok(two.every(({ status }) => status === 200))
    const told = (await admin.get('/ws/changes?since=10')).body.data
    t.strictSame(
      told.map((change: { batch: number }) => change.batch),
      [11, 12],
    )
  })

  const before = { orders: await total('shop.Order'), lines: await total('shop.Line') }
  const good = { create: 'shop.Order', data: { name: 'good' } }
  const failing: [string, object[], object][] = [
    [
      'a fault of data',
      [good, { create: 'shop.Order', data: { name: 7 } }],
      { code: 'VALIDATION_FAILED', at: 1, errors: { name: 'must be a string' } },
    ],
    [
      'a value that is taken',
      [good, { create: 'shop.Order', data: { name: 'second' } }],
      { code: 'NOT_UNIQUE', at: 1 },
    ],
    ['taken within the batch', [good, good], { code: 'NOT_UNIQUE', at: 1 }],
    [
      'a version that is not',
      [good, { update: 'shop.Line', data: { id: 2, version: 0, text: 'x' } }],
      { code: 'VERSION_CONFLICT', at: 1, data: [{ version: 3 }], conflict: { since: 0 } },
    ],
    [
      'a delete of another version',
      [good, { delete: 'shop.Line', id: 2, version: 1 }],
      { code: 'VERSION_CONFLICT', at: 1 },
    ],
    ['no version', [{ update: 'shop.Line', data: { id: 2 } }], { code: 'VERSION_REQUIRED', at: 0 }],
    ['no record', [good, { delete: 'shop.Line', id: 99 }], { code: 'RECORD_NOT_FOUND', at: 1 }],
    [
      'a reference to nothing',
      [good, { create: 'shop.Line', data: { order: 99 } }],
      { code: 'REFERENCE_VIOLATION', at: 1 },
    ],
    ['still referred to', [good, { delete: 'shop.Order', id: 2 }], { code: 'REFERENCE_VIOLATION', at: 1 }],
    ['no model', [good, { create: 'shop.Ordr', data: {} }], { code: 'MODEL_NOT_FOUND', at: 1, message: /shop.Order/ }],
    [
      'an unknown name',
      [{ create: 'shop.Line', data: { order: { $ref: 'x' } } }],
      { code: 'VALIDATION_FAILED', errors: { order: 'no earlier operation is called "x"' } },
    ],
    [
      'a later name',
      [
        { create: 'shop.Line', data: { order: { $ref: 'o' } } },
        { ...good, as: 'o' },
      ],
      { code: 'VALIDATION_FAILED', at: 0 },
    ],
    [
      'a name of another model',
      [
        { ...good, as: 'o' },
        { create: 'shop.Line', data: { next: { $ref: 'o' } } },
      ],
      { code: 'VALIDATION_FAILED', at: 1, errors: { next: '"o" is a shop.Order, and not a shop.Line' } },
    ],
    [
      'a name twice',
      [
        { ...good, as: 'o' },
        { create: 'shop.Line', data: {}, as: 'o' },
      ],
      { code: 'VALIDATION_FAILED', at: 1, errors: { as: /earlier operation/ } },
    ],
    [
      'a name where no reference stands',
      [
        { ...good, as: 'o' },
        { create: 'shop.Line', data: { text: { $ref: 'o' } } },
      ],
      { code: 'VALIDATION_FAILED', at: 1, errors: { text: 'must be a string' } },
    ],
    [
      'two kinds',
      [{ ...good, delete: 'shop.Order', id: 1 }],
      { code: 'BAD_REQUEST', at: 0, message: /^An operation is/ },
    ],
    ['no kind', [good, { data: {} }], { code: 'BAD_REQUEST', at: 1 }],
    ['no id', [{ update: 'shop.Line', data: { version: 0 } }], { code: 'BAD_REQUEST', at: 0 }],
    ['too much', [{ delete: 'shop.Line', id: 2, as: 'x' }], { code: 'BAD_REQUEST', at: 0 }],
    ['nothing', [], { code: 'BAD_REQUEST' }],
    ['too many', Array(1001).fill({ delete: 'shop.Line', id: 2 }), { code: 'BAD_REQUEST' }],
  ]
  for (const [what, operations, expected] of failing)
    await t.test(`nothing of it: ${what}`, async (t) => {
      const { body } = await batch(operations)
      t.match(body, expected)
      t.strictSame({ orders: await total('shop.Order'), lines: await total('shop.Line') }, before)
    })

  await t.test('rights are asked for each', async (t) => {
    const mine = (await batch([{ create: 'shop.Own', data: { text: 'hers' } }], ann)).body.data[0].id
    const his = (await batch([{ create: 'shop.Own', data: { text: 'his' } }])).body.data[0].id
    t.match((await batch([{ delete: 'shop.Own', id: mine }], ann)).body, { code: 'FORBIDDEN', at: 0 })
    const both = [
      { update: 'shop.Own', data: { id: mine, version: 0, text: 'x' } },
      { update: 'shop.Own', data: { id: his, version: 0, text: 'x' } },
    ]
    t.match((await batch(both, ann)).body, { code: 'RECORD_NOT_FOUND', at: 1 })
    t.match((await ann.get(`/ws/rest/shop.Own/${mine}`)).body.data, [{ version: 0, text: 'hers' }])
    t.equal((await batch([good], app.stranger)).status, 401)
  })

  await t.test('a thousand at once', async (t) => {
    const { body } = await batch(
      Array.from({ length: 1000 }, (_, nth) => ({ create: 'shop.Line', data: { text: `${nth}` } })),
    )
    t.equal(body.data.length, 1000)
    t.equal(await total('shop.Line'), before.lines + 1000)
  })

  await t.test('not through an old model', async (t) => {
    await app.storage.write({
      steps: [{ sql: `UPDATE dossier_tables SET shape = 'other' WHERE tbl = 'shop__Order'`, parameters: [] }],
    })
    t.match(
      (
        await batch([
          { create: 'shop.Line', data: {} },
          { create: 'shop.Order', data: { name: 'late' } },
        ])
      ).body,
      // On PostgreSQL it waits until the models have been looked at again.
      isPostgres ? { status: 0 } : { code: 'UNAVAILABLE' },
    )
    writeModel(app.folder, 'shop.Order.json', { ...ORDER, title: 'Order' })
    await app.service.reload()
    t.equal((await batch([{ create: 'shop.Order', data: { name: 'later' } }])).status, 200)
  })
})

t.test('what an earlier operation of the same batch has done is in the way', async (t) => {
  const app = await startApp(t, { models: MODELS })
  const admin = await app.login()
  for (const name of ['a', 'b']) await admin.put('/ws/rest/shop.Order', { name })
  await admin.put('/ws/rest/shop.Line', { order: 1 })
  const cases: [object[], string, RegExp][] = [
    [
      [
        { update: 'shop.Order', data: { id: 1, version: 0, name: 'x' } },
        { update: 'shop.Order', data: { id: 1, version: 0 } },
      ],
      'VERSION_CONFLICT',
      /was changed or deleted right before, by an earlier operation/,
    ],
    [
      [
        { delete: 'shop.Line', id: 1 },
        { delete: 'shop.Line', id: 1 },
      ],
      'VERSION_CONFLICT',
      /right before/,
    ],
    [
      [
        { create: 'shop.Line', data: { order: 2 } },
        { delete: 'shop.Order', id: 2 },
      ],
      'REFERENCE_VIOLATION',
      /that the same batch has made/,
    ],
    [
      [
        { delete: 'shop.Order', id: 2 },
        { create: 'shop.Line', data: { order: 2 } },
      ],
      'REFERENCE_VIOLATION',
      /perhaps an earlier operation of the same batch has deleted it/,
    ],
  ]
  for (const [operations, code, message] of cases)
    t.match((await admin.post('/ws/batch', operations)).body, { code, message, at: 1 })
  t.match((await admin.get('/ws/rest/shop.Order')).body, { total: 2, data: [{ version: 0 }, { version: 0 }] })
})

t.test('references by name, and other oddities: one clear fault, of one operation', async (t) => {
  const ruled = { type: 'object', properties: { order: { type: 'integer', reference: 'shop.Order', maximum: 2 } } }
  const fixed = {
    type: 'object',
    properties: { order: { type: 'integer', reference: 'shop.Order', readOnly: true }, n: { type: 'integer' } },
  }
  const app = await startApp(t, { models: { ...MODELS, 'shop.Ruled.json': ruled, 'shop.Fixed.json': fixed } })
  const admin = await app.login()
  const made = { create: 'shop.Order', data: { name: 'z' }, as: 'z' }
  const mustBe = /must be an id, or \{"\$ref": NAME\}/
  for (const [second, errors] of [
    [{ create: 'shop.Line', data: { order: { $ref: { toString: 1 } } } }, { order: mustBe }],
    [{ create: 'shop.Line', data: { order: { $ref: ['z'] } } }, { order: mustBe }],
    [{ create: 'shop.Line', data: { order: { $ref: null } } }, { order: mustBe }],
    [{ create: 'shop.Line', data: { order: { $ref: 'z', more: 1 } } }, { order: mustBe }],
    [{ create: 'shop.Ruled', data: { order: { $ref: 'z' } } }, { order: /has rules of its own/ }],
    [{ delete: 'shop.Line', id: 0 }, { id: />= 1/ }],
    [{ delete: 'shop.Line', id: 1, version: 1e300 }, { version: /<=/ }],
    [{ create: 'shop.Line', data: [] }, { data: /must be an object/ }],
    [{ create: 'shop.Line', data: {}, as: '' }, { as: /fewer than 1/ }],
    [{ create: 'shop.Line', data: {}, odd: 1 }, { odd: /not a known field/ }],
  ] as const)
    t.match(
      (await admin.post('/ws/batch', [made, second])).body,
      { code: 'VALIDATION_FAILED', at: 1, errors },
      JSON.stringify(second),
    )
  const inexact = `{"data":[${JSON.stringify(made)},{"create":"shop.Fixed","data":{"n":12345678901234567890}}]}`
  t.match((await admin.send('POST', '/ws/batch', inexact)).body, {
    code: 'VALIDATION_FAILED',
    at: 1,
    errors: { n: /cannot be kept exactly/ },
  })
  const ignored = await admin.post('/ws/batch', [{ create: 'shop.Fixed', data: { order: { $ref: 'nope' } } }])
  t.match(ignored.body.data, [{ order: null }], 'what is read-only is passed over, as alone')
})

t.test('large answers, many sets of fields, deep documents', async (t) => {
  const fields = Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`f${i}`, { type: 'integer' }]))
  const models = {
    'a.Doc.json': { type: 'object', properties: { text: { type: 'string' }, doc: { type: 'object' } } },
    'a.Wide.json': { type: 'object', properties: fields },
  }
  const app = await startApp(t, { models })
  const admin = await app.login()
  await admin.put('/ws/rest/a.Doc', { text: 'x'.repeat(1_000_000) })
  const touch = (count: number) =>
    Array.from({ length: count }, (_, version) => ({ update: 'a.Doc', data: { id: 1, version } }))
  t.match((await admin.post('/ws/batch', touch(20))).body, { code: 'BODY_TOO_LARGE', at: 16, message: /16 MiB/ })
  t.match((await admin.get('/ws/rest/a.Doc/1?fields=id')).body.data, [{ version: 0 }], 'nothing was done')
  t.equal((await admin.post('/ws/batch', touch(3))).status, 200)

  for (let i = 0; i < 60; i++) await admin.put('/ws/rest/a.Wide', { f0: 7, f59: 8 })
  const each = Array.from({ length: 60 }, (_, i) => ({
    update: 'a.Wide',
    data: { id: i + 1, version: 0, [`f${i}`]: i, ...(i === 50 && { f59: null }) },
  }))
  const { body } = await admin.post('/ws/batch', each)
  for (const [i, record] of body.data.entries())
    t.match(record, { version: 1, f0: i === 0 ? 0 : 7, [`f${i}`]: i, f59: i === 59 ? 59 : i === 50 ? null : 8 })
  t.match((await admin.get('/ws/rest/a.Wide/51/history?limit=1')).body.data, [
    { changes: { f50: { from: null, to: 50 }, f59: { from: 8, to: null } } },
  ])

  const nested = (levels: number): unknown => (levels === 0 ? 1 : { a: nested(levels - 1) })
  for (const [levels, status] of [
    [61, 200],
    [64, 400],
  ] as const) {
    const data = { doc: nested(levels) }
    t.equal((await admin.put('/ws/rest/a.Doc', data)).status, status, `${levels} alone`)
    t.equal((await admin.post('/ws/batch', [{ create: 'a.Doc', data }])).status, status, `${levels} in a batch`)
  }
})

t.test('a refused batch of one operation has changed nothing', async (t) => {
  // An answer over 16 MiB, of a text that need not be sent as large as that.
  const many = { type: 'string', computed: Array(19).fill('{text}').join(' ') }
  const models = {
    'shop.Text.json': { type: 'object', properties: { text: { type: 'string' }, mark: { type: 'string' }, many } },
  }
  const app = await startApp(t, { models })
  const admin = await app.login()
  const path = '/ws/rest/shop.Text'
  t.equal((await admin.put(path, { text: 'x'.repeat(900_000) })).status, 200)
  const update = { update: 'shop.Text', data: { id: 1, version: 0, mark: 'changed' } }
  t.match(await admin.post('/ws/batch', [update]), { status: 413, body: { code: 'BODY_TOO_LARGE', at: 0 } })
  t.match((await admin.get(`${path}/1?fields=mark`)).body.data, [{ version: 0, mark: null }])
  t.equal((await admin.get(`${path}/1/history`)).body.total, 1)
})
