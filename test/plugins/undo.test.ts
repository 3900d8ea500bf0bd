import { rmSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createAccess } from '../../src/filters/access.ts'
import { createUndo } from '../../src/records/history/undo.ts'
import { createDeletePreview } from '../../src/records/write/delete-preview.ts'
import { MAX_OPERATIONS } from '../../src/requests/batch-schemas.ts'
import { StorageFault } from '../../src/storage/storage.ts'
import { type Client, ok, PASSWORD, type Row } from '../client.ts'
import { modelOf, type Running, startApp, writeModel } from '../helper.ts'

const text = { type: 'string' }
const to = (reference: string, onDelete: string) => ({ type: 'integer', reference, onDelete })
const OWN = { role: '*', where: 'own' }

const MODELS = {
  'u.Company.json': {
    type: 'object',
    properties: {
      name: { ...text, unique: true },
      boss: to('u.Person', 'clear'),
      secret: { ...text, writeOnly: true },
    },
  },
  'u.Person.json': {
    type: 'object',
    properties: { name: text, company: to('u.Company', 'clear'), label: { ...text, computed: '{name}!' } },
  },
  'u.Order.json': {
    type: 'object',
    properties: { code: text, company: to('u.Company', 'cascade'), lines: { inverse: 'u.Line.order' } },
  },
  'u.Line.json': { type: 'object', properties: { order: to('u.Order', 'cascade'), qty: { type: 'integer' } } },
  'u.Note.json': {
    type: 'object',
    properties: { text, order: to('u.Order', 'cascade') },
    access: { read: [OWN], create: ['*'], update: [OWN], delete: [OWN] },
  },
  'A.Parent.json': { type: 'object', properties: { name: text } },
  'A.Child.json': {
    type: 'object',
    properties: { parent: to('A.Parent', 'cascade'), other: to('A.Child', 'cascade') },
  },
}
const rest = (model: string, id: number | string = '') => `/ws/rest/u.${model}${id && `/${id}`}`

const undo = (client: Client, change: number | string, headers = {}) =>
  client.send('POST', `/ws/changes/${change}/undo`, { data: {} }, headers)
const lastChange = async (client: Client) => (await ok(client.get('/ws/changes?limit=1000'))).data.at(-1).change

/** All records without versions, and without when and by whom they were written. */
async function everything(client: Client): Promise<unknown[]> {
  const names = ['u.Company', 'u.Person', 'u.Order', 'u.Line', 'A.Parent', 'A.Child']
  const pages = await Promise.all(names.map((name) => ok(client.get(`/ws/rest/${name}?limit=500`))))
  return pages.map(({ data }) => data.map(({ version, ...row }: { version: number }) => row))
}

/** Two companies; the first has two people, and two orders of two lines. */
async function fill(admin: Client): Promise<void> {
  for (const name of ['Acme', 'Bolt']) await ok(admin.put(rest('Company'), { name }))
  for (const name of ['Ada', 'Bob']) await ok(admin.put(rest('Person'), { name, company: 1 }))
  await ok(admin.send('POST', rest('Company', 2), { data: { version: 0, boss: 1 } }))
  for (const code of ['A', 'B'])
    await ok(admin.put(rest('Order'), { code, company: 1, lines: [{ qty: 1 }, { qty: 2 }] }))
}

t.test('a delete comes back with what went along', async (t) => {
  const service = await startApp(t, { models: MODELS })
  const admin = await service.login()
  await fill(admin)
  const before = await everything(admin)
  await ok(admin.delete(rest('Company', 1)))
  t.notSame(await everything(admin), before)
  const change = await lastChange(admin)
  const { data } = await ok(undo(admin, change))
  t.equal(data.length, 9, 'a company, two people, two orders of two lines')
  t.match(data[0], { model: 'u.Company', id: 1, operation: 'restore' })
  t.strictSame(await everything(admin), before)
  const [person] = (await ok(admin.get(rest('Person', 1)))).data
  t.match(person, { version: 2, company: 1, label: 'Ada!' })

  const again = await undo(admin, change)
  t.equal(again.status, 409, 'it has changed since')
  t.equal(again.body.code, 'VERSION_CONFLICT')
  t.match(again.body.message, /u\.(Company|Order|Line|Person) \d/)

  await ok(undo(admin, await lastChange(admin)))
  t.equal((await ok(admin.get(rest('Line')))).total, 0, 'an undo can be undone')
  await ok(undo(admin, await lastChange(admin)))
  t.strictSame(await everything(admin), before)
})

t.test('names by which a database may order its triggers, and records in a row', async (t) => {
  const service = await startApp(t, { models: MODELS })
  const admin = await service.login()
  await ok(admin.put('/ws/rest/A.Parent', { name: 'x' }))
  for (const other of [null, 1, 2])
    await ok(admin.put('/ws/rest/A.Child', { parent: other === null ? 1 : null, other }))
  const before = await everything(admin)
  await ok(admin.delete('/ws/rest/A.Parent/1'))
  t.equal((await ok(admin.get('/ws/rest/A.Child'))).total, 0)
  await ok(undo(admin, await lastChange(admin)))
  t.strictSame(await everything(admin), before)
})

t.test('a batch is undone as a whole', async (t) => {
  const service = await startApp(t, { models: MODELS })
  const admin = await service.login()
  await fill(admin)
  const before = await everything(admin)
  const operations = [
    { create: 'u.Company', data: { name: 'Cup' }, as: 'new' },
    { create: 'u.Order', data: { code: 'C', company: { $ref: 'new' } } },
    { update: 'u.Person', data: { id: 1, version: 0, name: 'Eve' } },
    { update: 'u.Person', data: { id: 1, version: 1, name: 'Eva', company: { $ref: 'new' } } },
    // Two values change places.
    { update: 'u.Company', data: { id: 1, version: 0, name: 'tmp' } },
    { update: 'u.Company', data: { id: 2, version: 1, name: 'Acme' } },
    { update: 'u.Company', data: { id: 1, version: 1, name: 'Bolt' } },
    { delete: 'u.Order', id: 2 },
  ]
  await ok(admin.send('POST', '/ws/batch', { data: operations }))
  const change = await lastChange(admin)
  const first = (await ok(admin.get('/ws/changes?limit=1000'))).data.findLast(({ batch }: Row) => batch !== undefined)
  const { data } = await ok(undo(admin, first.batch, { 'idempotency-key': 'once' }))
  t.strictSame(await everything(admin), before)
  t.strictSame((await ok(undo(admin, first.batch, { 'idempotency-key': 'once' }))).data, data, 'sent again')
  t.strictSame(await everything(admin), before)
  const entries = (await ok(admin.get(`/ws/changes?since=${change}&limit=1000`))).data
  t.equal(new Set(entries.map(({ batch }: Row) => batch)).size, 1, 'it is one batch again')
  t.match(entries[0], { operation: 'restore', by: 'admin' })

  await ok(admin.put(rest('Order'), { code: 'D', company: 1, lines: [{ qty: 7 }] }))
  await ok(undo(admin, await lastChange(admin)))
  t.strictSame(await everything(admin), before, 'what was written together')
  const { version } = (await ok(admin.get(rest('Order', 1)))).data[0]
  await ok(admin.send('POST', rest('Order', 1), { data: { version, lines: { delete: [{ id: 1, version: 0 }] } } }))
  await ok(undo(admin, await lastChange(admin)))
  t.strictSame(await everything(admin), before, 'where only the version of the parent had changed')

  await ok(admin.send('POST', rest('Person', 2), { data: { version: 0, name: 'Bo' } }))
  await ok(undo(admin, await lastChange(admin)))
  t.strictSame(await everything(admin), before, 'a single update')
  await ok(admin.send('POST', rest('Person', 2), { data: { version: 2, name: 'Bob' } }))
  t.strictSame((await ok(undo(admin, await lastChange(admin)))).data, [], 'nothing had changed')
})

t.test('all or nothing', async (t) => {
  const service = await startApp(t, { models: MODELS })
  const admin = await service.login()
  await fill(admin)
  await ok(admin.delete(rest('Company', 1)))
  const change = await lastChange(admin)
  await ok(admin.send('POST', rest('Person', 2), { data: { version: 1, name: 'Bo' } }))
  const changed = await everything(admin)
  const late = await undo(admin, change)
  t.equal(late.status, 409)
  t.match(late.body, { code: 'VERSION_CONFLICT', message: /u\.Person 2/, data: [{ id: 2, name: 'Bo' }] })
  await ok(admin.send('POST', rest('Person', 2), { data: { version: 2, name: 'Bob' } }))
  t.equal((await undo(admin, change)).status, 409, 'also if it is as before again')
  await ok(admin.put(rest('Company'), { name: 'Acme' }))
  t.strictSame((await everything(admin)).slice(2), changed.slice(2))

  const taken = await startApp(t, { models: MODELS })
  const other = await taken.login()
  await fill(other)
  await ok(other.delete(rest('Company', 1)))
  const deleted = await lastChange(other)
  await ok(other.put(rest('Company'), { name: 'Acme' }))
  const refused = await undo(other, deleted)
  t.match([refused.status, refused.body.code], [409, 'NOT_UNIQUE'])
  t.equal((await ok(other.get(rest('Order')))).total, 0)
})

t.test('what cannot be undone says why', async (t) => {
  const service = await startApp(t, { models: MODELS })
  const admin = await service.login()
  await fill(admin)
  const refused = async (change: number | string, client = admin) => {
    const { status, body } = await undo(client, change)
    return [status, body.message]
  }
  t.match(await refused(999), [404, /There is no change 999/])
  t.equal((await refused('x'))[0], 400)
  t.equal((await refused(0))[0], 404)
  t.equal((await admin.send('POST', '/ws/changes/1/undo', { data: { id: 1 } })).status, 422)

  await ok(admin.send('POST', rest('Company', 1), { data: { version: 0, secret: 'x' } }))
  t.match(await refused(await lastChange(admin)), [404, /secret of u.Company 1 was is not kept/])

  await ok(admin.delete(rest('Company', 2)))
  const change = await lastChange(admin)
  await ok(admin.delete(`${rest('Company', 2)}/history`))
  t.match(await refused(change), [404, /What u.Company 2 was is not kept/])
  t.match(await refused(await lastChange(admin)), [404, /not kept/])

  const [{ change: written, batch }] = (await ok(admin.get(`${rest('Line', 1)}/history`))).data
  t.not(written, batch)
  await service.db.deleteFrom('dossier_changes').where('change', '=', batch).execute()
  t.match(await refused(written), [410, /Not all/])

  const person = await ok(admin.put(rest('Person'), { name: 'Zoë' }))
  const made = await lastChange(admin)
  writeModel(service.folder, 'u.Person.json', { type: 'object', properties: { title: text } })
  await service.service.reload()
  await ok(undo(admin, made))
  t.equal((await admin.get(rest('Person', person.data[0].id))).status, 404)
})

t.test('it needs the right to each step', async (t) => {
  const models = {
    ...MODELS,
    'u.Line.json': { ...MODELS['u.Line.json'], access: { read: ['*'], update: ['*'], delete: ['*'] } },
  }
  const service: Running = await startApp(t, { models })
  const admin = await service.login()
  await fill(admin)
  for (const username of ['bob', 'eve']) await ok(admin.put('/ws/users', { username, password: PASSWORD, roles: [] }))
  const [bob, eve] = [await service.login('bob'), await service.login('eve')]
  await ok(bob.put(rest('Note'), { text: 'mine', order: 1 }))
  const noted = await lastChange(bob)
  t.equal((await undo(eve, noted)).status, 404, 'a change that one does not see')
  const before = await everything(admin)
  await ok(eve.delete(rest('Order', 1)))
  const change = await lastChange(eve)
  const refused = await undo(eve, change)
  t.equal(refused.status, 403, 'with a note that eve does not see, and lines that she may not create')
  t.notMatch(JSON.stringify(refused.body), /mine/)
  t.equal((await undo(bob, change)).status, 403, 'nor may bob create lines')
  await ok(undo(admin, change))
  t.strictSame(await everything(admin), before)
  t.match((await ok(bob.get(rest('Note')))).data, [{ text: 'mine' }])
  await ok(bob.send('POST', rest('Person', 1), { data: { version: 0, name: 'Eve' } }))
  await ok(undo(eve, await lastChange(eve)))
})

t.test('what a delete would do, before it is done', async (t) => {
  const models = {
    ...MODELS,
    'u.Bill.json': { type: 'object', properties: { order: to('u.Order', 'restrict'), also: to('u.Order', 'clear') } },
  }
  const service = await startApp(t, { models })
  const admin = await service.login()
  await fill(admin)
  await ok(admin.put('/ws/users', { username: 'bob', password: PASSWORD, roles: [] }))
  const bob = await service.login('bob')
  for (const n of [1, 2]) await ok(bob.put(rest('Note'), { text: `${n}`, order: n }))
  const before = await everything(admin)
  const preview = async (client: Client, model: string, id: number, more = '') => {
    const { data, hidden } = await ok(client.delete(`${rest(model, id)}?preview=true${more}`))
    const words = data.map((one: Row) => `${one.operation} ${one.records} ${one.model} ${one.field}`)
    return { effects: words.sort(), hidden }
  }
  const ofCompany = ['clear 2 u.Person company', 'delete 2 u.Order company', 'delete 4 u.Line order']
  t.strictSame(await preview(admin, 'Company', 1), {
    effects: [...ofCompany, 'delete 2 u.Note order'].sort(),
    hidden: 0,
  })
  t.strictSame(await preview(await service.login('admin'), 'Person', 1), {
    effects: ['clear 1 u.Company boss'],
    hidden: 0,
  })
  await ok(admin.put('/ws/users', { username: 'eve', password: PASSWORD, roles: [] }))
  const eve = await service.login('eve')
  t.strictSame(await preview(eve, 'Company', 1), { effects: ofCompany, hidden: 2 })
  t.strictSame(await preview(eve, 'Line', 1, '&version=0'), { effects: [], hidden: 0 })
  await ok(admin.put(rest('Bill'), { order: 1, also: 2 }))
  t.strictSame(await preview(bob, 'Order', 1), {
    effects: ['delete 1 u.Note order', 'delete 2 u.Line order', 'restrict 1 u.Bill order'],
    hidden: 0,
  })
  t.equal((await admin.delete(rest('Order', 1))).status, 409)
  const batch = { data: [1, 2].map((id) => ({ delete: 'u.Order', id })), preview: true }
  const whole = await ok(eve.send('POST', '/ws/batch', batch))
  t.equal(whole.hidden, 2)
  t.match(whole.data.at(-1), { operation: 'delete', model: 'u.Line', records: 4 })
  t.match(whole.data.map(({ operation }: Row) => operation).sort(), ['clear', 'delete', 'restrict'])
  const created = { data: [{ create: 'u.Order', data: { code: 'x' } }], preview: true }
  t.strictSame(await ok(eve.send('POST', '/ws/batch', created)), { status: 0, data: [], hidden: 0 })
  t.strictSame(await everything(admin), before, 'nothing was done')

  for (const [path, status] of [
    [`${rest('Company', 1)}?preview=1`, 400],
    [`${rest('Company', 1)}?preview=true&version=7`, 409],
    [`${rest('Company', 9)}?preview=true`, 404],
    [`${rest('Note', 1)}?preview=true`, 404],
  ] as [string, number][])
    t.equal((await eve.delete(path)).status, status, path)
  const missing = {
    data: [
      { delete: 'u.Order', id: 1 },
      { delete: 'u.Order', id: 99 },
    ],
    preview: true,
  }
  t.match((await eve.send('POST', '/ws/batch', missing)).body, { code: 'RECORD_NOT_FOUND', at: 1 })
  t.strictSame(await everything(admin), before)
})

t.test('records that refer to each other, in a circle or in a row', async (t) => {
  const models = {
    'c.Company.json': { type: 'object', properties: { name: text, contact: to('c.Person', 'clear') } },
    'c.Person.json': {
      type: 'object',
      properties: { company: to('c.Company', 'cascade'), boss: to('c.Person', 'cascade') },
    },
    'c.Step.json': { type: 'object', properties: { root: to('c.Company', 'cascade'), up: to('c.Step', 'restrict') } },
  }
  const service = await startApp(t, { models })
  const admin = await service.login()
  const whole = async () =>
    Promise.all(
      ['Company', 'Person', 'Step'].map(async (name) =>
        (await ok(admin.get(`/ws/rest/c.${name}?limit=500`))).data.map(
          ({ version, ...row }: { version: number }) => row,
        ),
      ),
    )
  await ok(admin.put('/ws/rest/c.Company', { name: 'x' }))
  for (const boss of [null, 1, 2]) await ok(admin.put('/ws/rest/c.Person', { company: 1, boss }))
  await ok(admin.send('POST', '/ws/rest/c.Person/1', { data: { version: 0, boss: 3 } }))
  await ok(admin.send('POST', '/ws/rest/c.Company/1', { data: { version: 0, contact: 2 } }))
  for (let n = 0; n < 60; n++) await ok(admin.put('/ws/rest/c.Step', { root: 1, up: n === 0 ? null : n }))
  const before = await whole()
  await ok(admin.delete('/ws/rest/c.Company/1'))
  t.strictSame(await whole(), [[], [], []])
  await ok(undo(admin, await lastChange(admin)))
  t.strictSame(await whole(), before)
})

t.test('what others have done since is not undone along', async (t) => {
  const service = await startApp(t, { models: MODELS })
  const admin = await service.login()
  await ok(admin.put('/ws/users', { username: 'bob', password: PASSWORD, roles: [] }))
  const bob = await service.login('bob')
  await ok(admin.put(rest('Order'), { code: 'A' }))
  const made = await lastChange(admin)
  await ok(bob.put(rest('Line'), { order: 1, qty: 1 }))
  const refused = await undo(admin, made)
  t.match([refused.status, refused.body.message], [409, /u.Line 1 refers by now/])
  await ok(bob.delete(rest('Line', 1)))
  await ok(bob.put(rest('Note'), { text: 'x', order: 1 }))
  await ok(admin.put('/ws/users', { username: 'eve', password: PASSWORD, roles: [] }))
  const blind = await undo(await service.login('eve'), made)
  t.match([blind.status, blind.body.message], [409, /A record that you may not read refers/])
  await ok(bob.delete(rest('Note', 1)))
  await ok(undo(admin, made))
  t.equal((await ok(admin.get(rest('Order')))).total, 0)

  await ok(admin.put(rest('Person'), { name: 'a' }))
  const twice = [0, 1].map((version) => ({ update: 'u.Person', data: { id: 1, version, name: 'b' } }))
  await ok(admin.send('POST', '/ws/batch', { data: twice }))
  await ok(undo(admin, await lastChange(admin)))
  t.match(
    (await ok(admin.get(rest('Person', 1)))).data,
    [{ name: 'a', version: 3 }],
    'a change without effect is no other',
  )
})

t.test('a tree', async (t) => {
  const service = await startApp(t, { models: MODELS })
  const admin = await service.login()
  await ok(admin.put('/ws/rest/A.Parent', {}))
  for (const other of [null, 1, 1, 2, 3]) await ok(admin.put('/ws/rest/A.Child', { other }))
  const { data } = await ok(admin.delete('/ws/rest/A.Child/1?preview=true'))
  t.strictSame(data, [{ model: 'A.Child', field: 'other', operation: 'delete', records: 4 }])
  await ok(admin.send('POST', '/ws/rest/A.Child/1', { data: { version: 0, other: 5 } }))
  t.match((await ok(admin.delete('/ws/rest/A.Child/1?preview=true'))).data, [{ records: 4 }], 'in a circle')
  await ok(admin.send('POST', '/ws/rest/A.Child/5', { data: { version: 0, parent: 1 } }))
  await ok(admin.send('POST', '/ws/rest/A.Child/1', { data: { version: 1, other: null, parent: 1 } }))
  const { data: both } = await ok(admin.delete('/ws/rest/A.Parent/1?preview=true'))
  const records = both.reduce((sum: number, one: { records: number }) => sum + one.records, 0)
  t.equal(records, 5, 'one that is deleted for two reasons counts once')
})

t.test('models that have changed since', async (t) => {
  const service = await startApp(t, { models: MODELS })
  const admin = await service.login()
  const change = async (name: string, content: object) => {
    writeModel(service.folder, name, content)
    await service.service.reload()
  }
  await ok(admin.put(rest('Person'), { name: 'Ada Lovelace' }))
  await change('u.Person.json', { type: 'object', properties: { title: text } })
  await ok(admin.delete(rest('Person', 1)))
  const deleted = await lastChange(admin)
  await ok(undo(admin, deleted))
  await change('u.Person.json', { type: 'object', properties: { name: text } })
  t.match((await ok(admin.get(rest('Person', 1)))).data, [{ name: 'Ada Lovelace' }], 'a field that was away')
  await ok(admin.send('POST', rest('Person', 1), { data: { version: 1, name: 'Ada' } }))
  const changed = await lastChange(admin)
  await change('u.Person.json', { type: 'object', properties: { name: { ...text, maxLength: 5 } } })
  const refused = await undo(admin, changed)
  t.equal(refused.status, 422)
  t.match(refused.body.message, /^u.Person 1: /)

  const both = [
    { create: 'u.Person', data: {} },
    { create: 'A.Parent', data: {} },
  ]
  await ok(admin.send('POST', '/ws/batch', { data: both }))
  const [{ change: made }] = (await ok(admin.get('/ws/rest/A.Parent/1/history'))).data
  await ok(admin.delete('/ws/rest/u.Person/2'))
  for (const name of ['u.Person', 'u.Company', 'u.Order', 'u.Line', 'u.Note'])
    rmSync(join(service.folder, 'models', `${name}.json`))
  await service.service.reload()
  t.match((await undo(admin, made)).body.message, /u.Person is not served/)
})

t.test('storage that cannot, and limits', async (t) => {
  const service = await startApp(t, { models: MODELS })
  const admin = await service.login()
  await fill(admin)
  const change = await lastChange(admin)
  const { storage } = service
  const { write } = storage
  for (const details of [{}, { step: 99 }]) {
    Object.assign(storage, { write: () => Promise.reject(new StorageFault('busy', 'no', details)) })
    t.equal((await undo(admin, change)).status, 503)
  }
  Object.assign(storage, { write })
  const names = Object.entries(MODELS).map(([file, content]) => modelOf(file.replace('.json', ''), content))
  const models = new Map(names.map((model) => [model.name, model]))
  const caller = { username: 'admin', roles: ['admin'] }
  const access = createAccess(models, storage.db)
  const collections = new Map([...models.values()].map((model) => [model, { isReadable: async () => true }])) as never
  const limited = createUndo({
    storage,
    access,
    visibleModelsFor: () => models,
    collections,
    findSeconds: 60,
    maxBytes: 1,
  })
  await t.rejects(limited(change, caller), { code: 'BODY_TOO_LARGE' } as never)
  const { preview } = createDeletePreview({
    storage,
    access,
    visibleModelsFor: () => models,
    findSeconds: 60,
    maxRecords: 3,
  })
  const company = models.get('u.Company') as never
  await t.rejects(preview([{ model: company, id: 1 }], caller), { code: 'FIND_TOO_SLOW' } as never)
  t.strictSame(await preview([{ model: company, id: 2 }], caller), { data: [], hidden: 0 })
})

t.test('the largest batch', async (t) => {
  const service = await startApp(t, { models: MODELS })
  const admin = await service.login()
  const operations = Array.from({ length: MAX_OPERATIONS }, (_, n) => ({ create: 'u.Person', data: { name: `${n}` } }))
  await ok(admin.send('POST', '/ws/batch', { data: operations }))
  await ok(undo(admin, await lastChange(admin)))
  t.equal((await ok(admin.get(rest('Person')))).total, 0)
})

t.test('a delete that cascades to records which refer to each other', async (t) => {
  const service = await startApp(t, {
    models: {
      'd.Order.json': { type: 'object', properties: { code: text } },
      'd.Line.json': {
        type: 'object',
        properties: {
          order: to('d.Order', 'cascade'),
          before: to('d.Line', 'clear'),
          others: { type: 'array', items: to('d.Line', 'clear') },
        },
      },
    },
  })
  const admin = await service.login()
  const lines = async () =>
    (await ok(admin.get('/ws/rest/d.Line?fields=order,before,others'))).data.map(
      ({ id, order, before, others }: Record<string, unknown>) => [id, order, before, others],
    )
  await ok(admin.put('/ws/rest/d.Order', { code: 'A' }))
  await ok(admin.put('/ws/rest/d.Order', { code: 'B' }))
  await ok(admin.put('/ws/rest/d.Line', { order: 1 }))
  await ok(admin.put('/ws/rest/d.Line', { order: 1, before: 1, others: [1] }))
  await ok(admin.put('/ws/rest/d.Line', { order: 1, before: 2, others: [2, 1] }))
  await ok(admin.post('/ws/rest/d.Line/1', { version: 0, before: 3, others: [3] }))
  await ok(admin.put('/ws/rest/d.Line', { order: 2, before: 1, others: [3, 2] }))
  await ok(admin.put('/ws/rest/d.Line', { before: 3 }))
  const before = await lines()
  await ok(admin.delete('/ws/rest/d.Order/1'))
  t.strictSame(await lines(), [
    [4, 2, null, []],
    [5, null, null, null],
  ])
  const [{ change }] = (await ok(admin.get('/ws/rest/d.Order/1/history'))).data
  await ok(admin.post(`/ws/changes/${change}/undo`, {}))
  t.strictSame(await lines(), before)
})
