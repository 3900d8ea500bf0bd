import t from 'tap'
import { type Client, PASSWORD } from '../client.ts'
import { atShell, isPostgres } from '../engine.ts'
import { CONTACT, startApp, THING } from '../helper.ts'

const COMPANY = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] }
const PERSON = {
  type: 'object',
  properties: {
    fullName: { type: 'string', computed: '{name} ({age})' },
    name: { type: 'string' },
    age: { type: 'integer' },
    secret: { type: 'string', writeOnly: true },
    company: { type: 'integer', reference: 'a.Company', onDelete: 'clear' },
    boss: { type: 'integer', reference: 'a.Person', onDelete: 'cascade' },
  },
  required: ['name', 'secret'],
}
const OWN = {
  type: 'object',
  properties: { text: { type: 'string' } },
  access: {
    read: [{ role: '*', where: 'own' }],
    create: ['*'],
    update: [{ role: '*', where: 'own' }],
    delete: [{ role: '*', where: 'own' }],
  },
}
const QUIET = { type: 'object', properties: { n: { type: 'integer' } }, history: false }

const MODELS = {
  'a.Contact.json': CONTACT,
  'a.Thing.json': THING,
  'a.Company.json': COMPANY,
  'a.Person.json': PERSON,
  'a.Own.json': OWN,
  'a.Quiet.json': QUIET,
  'a.Read.json': { type: 'object', properties: { text: { type: 'string' } }, access: { read: ['*'] } },
  'a.Secret.json': { type: 'object', properties: { secret: { type: 'string', writeOnly: true } }, audit: false },
}

interface Made {
  id: number
  version: number
  [field: string]: unknown
}

t.test('history', async (t) => {
  const app = await startApp(t, { models: MODELS })
  const admin = await app.login()
  for (const username of ['ann', 'bob']) await admin.put('/ws/users', { username, password: PASSWORD, roles: [] })
  const ann = await app.login('ann')
  const bob = await app.login('bob')

  await t.test('every change is told, the newest first, with who, when and what', async (t) => {
    const { id } = await make(admin, 'a.Contact', { firstName: 'Ada', lastName: 'King' })
    await change(ann, 'a.Contact', id, { version: 0, lastName: 'Lovelace', email: 'ada@example.org' })
    await change(bob, 'a.Contact', id, { version: 1, email: null })
    const { status, body } = await admin.get(`/ws/rest/a.Contact/${id}/history`)
    t.equal(status, 200)
    t.equal(body.total, 3)
    t.notOk('next' in body)
    t.match(body.data, [
      { version: 2, operation: 'update', by: 'bob', changes: { email: { from: 'ada@example.org', to: null } } },
      { version: 1, operation: 'update', by: 'ann' },
      { version: 0, operation: 'create', by: 'admin', changes: { firstName: { from: null, to: 'Ada' } } },
    ])
    t.strictSame(body.data[1].changes, {
      lastName: { from: 'King', to: 'Lovelace' },
      email: { from: null, to: 'ada@example.org' },
    })
    const numbers = body.data.map(({ change }: { change: number }) => change)
    t.strictSame(
      numbers,
      numbers.toSorted((a: number, b: number) => b - a),
    )
    t.ok(body.data.every(({ at }: { at: string }) => Math.abs(Date.parse(at) - Date.now()) < 60_000))

    const first = (await admin.get(`/ws/rest/a.Contact/${id}/history?limit=2`)).body
    t.strictSame([first.total, first.data.length], [3, 2])
    const second = (await admin.get(`/ws/rest/a.Contact/${id}/history?limit=2&after=${first.next}`)).body
    t.strictSame([second.total, second.data], [3, body.data.slice(2)])
    t.notOk('next' in second)
    t.match((await admin.get(`/ws/rest/a.Contact/${id}/history?limit=0`)).body, { total: 3, data: [] })
    t.match((await admin.get(`/ws/rest/a.Contact/${id}/history?after=x`)).body, { code: 'BAD_REQUEST' })
    t.match((await admin.get('/ws/rest/a.Contact/999/history')).body, { code: 'RECORD_NOT_FOUND' })
  })

  await t.test('every version of a record, whatever is in it', async (t) => {
    const states: Made[] = []
    const { id } = await make(admin, 'a.Thing', { text: 'abc' })
    const sends: object[] = [
      { count: 3, ratio: 0.25, done: true, tags: ['x', 'y'], place: { city: 'Rome', zip: '1' } },
      { price: '12.50', moment: '2026-01-02T03:04:05Z', big: 9007199254740991, secret: 'sesame' },
      { done: false, tags: null, place: { city: 'Oslo', zip: '"\\ é😀\n' }, link: 'https://a.example/?q=%27' },
      { color: null, count: 0, ratio: 0.75 },
      {},
    ]
    states.push((await admin.get(`/ws/rest/a.Thing/${id}`)).body.data[0])
    for (const [version, data] of sends.entries()) {
      await change(admin, 'a.Thing', id, { version, ...data })
      states.push((await admin.get(`/ws/rest/a.Thing/${id}`)).body.data[0])
    }
    for (const state of states)
      t.strictSame((await admin.get(`/ws/rest/a.Thing/${id}?version=${state.version}`)).body.data, [state])
    t.match((await admin.get(`/ws/rest/a.Thing/${id}?version=6`)).body, { code: 'VERSION_NOT_FOUND' })
    t.match((await admin.get(`/ws/rest/a.Thing/${id}?version=1&fields=text`)).body.data, [
      { id, version: 1, text: 'abc' },
    ])
    t.match((await admin.get(`/ws/rest/a.Thing/${id}?version=-1`)).body, { code: 'BAD_REQUEST' })
    t.match(
      (await admin.get(`/ws/rest/a.Person/1?version=1&expand=boss`)).body.message,
      /"expand" is about records as they are/,
    )
    const { body, text } = await admin.get(`/ws/rest/a.Thing/${id}/history`)
    t.strictSame(body.data[3].changes.secret, {})
    t.notMatch(text, /sesame/)
    t.notMatch(
      JSON.stringify(await app.storage.read({ sql: 'SELECT * FROM dossier_changes', parameters: [] })),
      /sesame/,
    )
    await admin.delete(`/ws/rest/a.Thing/${id}`)
    for (const state of states)
      t.strictSame((await admin.get(`/ws/rest/a.Thing/${id}?version=${state.version}`)).body.data, [state], 'deleted')
  })

  await t.test('many versions: each is near to one that is written down whole', async (t) => {
    const { id } = await make(admin, 'a.Person', { name: 'n', age: 0, secret: 's' })
    for (let version = 0; version < 150; version++)
      await change(admin, 'a.Person', id, {
        version,
        [version % 2 ? 'name' : 'age']: version % 2 ? `n${version}` : version,
      })
    for (const version of [0, 1, 63, 64, 65, 127, 128, 129, 150]) {
      const { data } = (await admin.get(`/ws/rest/a.Person/${id}?version=${version}`)).body
      t.match(data, [{ id, version, ...expected(version) }], `version ${version}`)
    }
    function expected(version: number) {
      const age = version === 0 ? 0 : version % 2 ? version - 1 : version - 2
      const name = version < 2 ? 'n' : `n${version % 2 ? version - 2 : version - 1}`
      return { age, name, fullName: `${name} (${age})` }
    }
  })

  await t.test('what follows from a delete is told as that person’s change', async (t) => {
    const company = await make(admin, 'a.Company', { name: 'Acme' })
    const boss = await make(admin, 'a.Person', { name: 'Boss', secret: 'x', company: company.id })
    const clerk = await make(admin, 'a.Person', { name: 'Clerk', secret: 'x', boss: boss.id })
    await ann.delete(`/ws/rest/a.Company/${company.id}`)
    t.match((await admin.get(`/ws/rest/a.Person/${boss.id}/history?limit=1`)).body.data, [
      { version: 1, operation: 'update', by: 'ann', changes: { company: { from: company.id, to: null } } },
    ])
    await bob.delete(`/ws/rest/a.Person/${boss.id}`)
    for (const { id } of [boss, clerk])
      t.match((await admin.get(`/ws/rest/a.Person/${id}/history?limit=1`)).body.data, [
        { operation: 'delete', by: 'bob' },
      ])
  })

  await t.test('at a shell nothing breaks, and what is done there is nobody’s', async (t) => {
    const { id } = await make(admin, 'a.Person', { name: 'Before', secret: 'x' })
    const { id: gone } = await make(admin, 'a.Company', { name: 'Last' })
    const added = gone + 1
    // Only SQLite lets a text be no text.
    const odd = isPostgres ? `'FF00'` : `x'FF00'`
    await atShell(
      app.config,
      `UPDATE "a__Person" SET name = 'By hand', version = version + 1 WHERE id = ${id};
       UPDATE "a__Person" SET name = ${odd} WHERE id = ${id};
       INSERT INTO "a__Company" (name) VALUES ('Shell');
       DELETE FROM "a__Company" WHERE id = ${added}`,
    )
    t.match((await admin.get(`/ws/rest/a.Person/${id}/history`)).body.data, [
      { version: 1, by: null, changes: { name: { from: 'By hand', to: 'FF00' } } },
      { version: 1, by: null, operation: 'update', changes: { name: { from: 'Before', to: 'By hand' } } },
      { version: 0, by: 'admin' },
    ])
    t.match((await admin.get(`/ws/rest/a.Person/${id}?version=0`)).body.data, [{ name: 'Before', version: 0 }])
    t.match((await admin.get(`/ws/rest/a.Company/${added}/history`)).body.data, [
      { by: null, operation: 'delete' },
      { by: null, operation: 'create' },
    ])
    t.match((await admin.get(`/ws/rest/a.Company/${added}`)).body.message, /somebody at the database deleted it/)
  })

  await t.test('a version comes back', async (t) => {
    const { id } = await make(admin, 'a.Contact', { firstName: 'Grace', email: 'grace@example.org' })
    await change(admin, 'a.Contact', id, { version: 0, firstName: 'Gracie', lastName: 'Hopper', email: null })
    const restore = (data: object, client = ann) => client.post(`/ws/rest/a.Contact/${id}/restore`, data)
    t.match((await restore({ to: 0 })).body, { code: 'VERSION_REQUIRED' })
    t.match((await restore({ version: 1 })).body, { code: 'VALIDATION_FAILED', errors: { to: 'is required' } })
    t.match((await restore({ version: 1, to: 7 })).body, { code: 'VERSION_NOT_FOUND' })
    t.match((await restore({ version: 0, to: 0 })).body, {
      code: 'VERSION_CONFLICT',
      conflict: { since: 0, version: 1 },
    })
    t.match((await restore({ version: 1, to: 0, more: 1 })).body, { code: 'VALIDATION_FAILED' })
    const { body } = await restore({ version: 1, to: 0 })
    t.match(body.data, [
      {
        version: 2,
        firstName: 'Grace',
        lastName: null,
        email: 'grace@example.org',
        updatedBy: 'ann',
        createdBy: 'admin',
      },
    ])
    t.match((await admin.get(`/ws/rest/a.Contact/${id}/history?limit=1`)).body.data, [
      { operation: 'restore', by: 'ann' },
    ])
    await make(admin, 'a.Contact', { firstName: 'Thief', email: 'g@example.org' })
    await change(admin, 'a.Contact', id, { version: 2, email: 'h@example.org' })
    t.match((await admin.post('/ws/rest/a.Contact/999/restore', { version: 1, to: 0 })).body, {
      code: 'RECORD_NOT_FOUND',
    })
  })

  await t.test('a deleted record comes back under its own id', async (t) => {
    const company = await make(admin, 'a.Company', { name: 'Initech' })
    const { id } = await make(admin, 'a.Person', { name: 'Peter', age: 7, secret: 'x', company: company.id })
    await change(admin, 'a.Person', id, { version: 0, age: 8 })
    const before = (await admin.get(`/ws/rest/a.Person/${id}`)).body.data[0]
    await bob.delete(`/ws/rest/a.Person/${id}`)
    const gone = await admin.post(`/ws/rest/a.Person/${id}`, { version: 1, age: 9 })
    t.match(gone.body, { code: 'RECORD_NOT_FOUND', message: /: bob deleted it at 20/ })
    const { body } = await admin.get('/ws/rest/a.Person/deleted')
    const listed = body.data.find((one: Made) => one.id === id)
    t.match(listed, { id, version: 1, by: 'bob', name: 'Peter', fullName: 'Peter (8)', age: 8, company: company.id })
    const restore = (data: object) => ann.post(`/ws/rest/a.Person/${id}/restore`, data)
    t.match((await restore({ version: 0 })).body, { code: 'VERSION_CONFLICT' })
    const back = (await restore({})).body
    const { updatedOn, ...record } = before
    t.match(back.data, [{ ...record, version: 2, updatedBy: 'ann' }])
    t.ok(back.data[0].updatedOn >= updatedOn)
    t.notOk((await admin.get('/ws/rest/a.Person/deleted')).body.data.some((one: Made) => one.id === id))
    t.match((await restore({})).body, { code: 'VERSION_REQUIRED' })
    await admin.delete(`/ws/rest/a.Person/${id}`)
    t.match((await restore({ to: 0 })).body.data, [{ version: 3, age: 7 }], 'any version that is kept')
    t.match((await admin.get(`/ws/rest/a.Person/${id}?version=1`)).body.data, [{ version: 1, age: 8 }])
    t.strictSame(
      (await admin.get(`/ws/rest/a.Person/${id}/history`)).body.data.map(({ operation }: Made) => operation),
      ['restore', 'delete', 'restore', 'delete', 'update', 'create'],
    )
    await admin.delete(`/ws/rest/a.Person/${id}`)
    await admin.delete(`/ws/rest/a.Company/${company.id}`)
    t.match((await restore({})).body, { code: 'REFERENCE_VIOLATION', errors: { company: /there is no a.Company/ } })
    t.match((await restore({ to: 4 })).body, { code: 'VERSION_NOT_FOUND' })
  })

  await t.test('two who bring the same record back: one does', async (t) => {
    const { id } = await make(admin, 'a.Company', { name: 'Once' })
    await admin.delete(`/ws/rest/a.Company/${id}`)
    const answers = await Promise.all([ann, bob, admin].map((who) => who.post(`/ws/rest/a.Company/${id}/restore`, {})))
    t.equal(answers.filter(({ status }) => status === 200).length, 1)
    // Who comes when it is back already is asked for a version.
    t.ok(answers.every(({ body }) => body.status === 0 || /^VERSION_(CONFLICT|REQUIRED)$/.test(body.code)))
    t.match((await admin.get(`/ws/rest/a.Company/${id}`)).body.data, [{ version: 1 }])
  })

  await t.test('only one’s own, also when it is deleted', async (t) => {
    const { id } = await make(ann, 'a.Own', { text: 'mine' })
    await change(ann, 'a.Own', id, { version: 0, text: 'still mine' })
    const paths = [`${id}/history`, `${id}?version=0`]
    for (const path of paths) {
      t.equal((await ann.get(`/ws/rest/a.Own/${path}`)).status, 200)
      t.equal((await bob.get(`/ws/rest/a.Own/${path}`)).status, 404)
    }
    t.equal((await bob.post(`/ws/rest/a.Own/${id}/restore`, { version: 1, to: 0 })).status, 404)
    await ann.delete(`/ws/rest/a.Own/${id}`)
    for (const path of paths) {
      t.equal((await ann.get(`/ws/rest/a.Own/${path}`)).status, 200)
      t.equal((await bob.get(`/ws/rest/a.Own/${path}`)).status, 404)
    }
    t.match((await bob.get(`/ws/rest/a.Own/${id}`)).body.message, /^There is no a.Own with the id \d+\.$/)
    t.match((await ann.get(`/ws/rest/a.Own/${id}`)).body.message, /ann deleted it/)
    t.match((await bob.get('/ws/rest/a.Own/deleted')).body, { total: 0, data: [] })
    t.match((await ann.get('/ws/rest/a.Own/deleted')).body, { total: 1, data: [{ id, text: 'still mine' }] })
    t.equal((await bob.post(`/ws/rest/a.Own/${id}/restore`, {})).status, 404)
    t.match((await ann.post(`/ws/rest/a.Own/${id}/restore`, {})).body.data, [{ id, version: 2, createdBy: 'ann' }])
  })

  await t.test('deleted records come in pages, and what is large in smaller ones', async (t) => {
    for (let nth = 0; nth < 3; nth++) {
      const { id } = await make(bob, 'a.Own', { text: `${nth}${'x'.repeat(400_000)}` })
      for (let version = 0; version < 3; version++)
        await change(bob, 'a.Own', id, { version, text: `${version}${'y'.repeat(400_000)}` })
      const first = (await bob.get(`/ws/rest/a.Own/${id}/history`)).body
      t.strictSame([first.total, first.data.length], [4, 1], 'one that is large is all of a page')
      t.equal((await bob.get(`/ws/rest/a.Own/${id}/history?after=${first.next}`)).body.data[0].version, 2)
      t.match((await bob.get(`/ws/rest/a.Own/${id}?version=0`)).body.data[0].text, new RegExp(`^${nth}x`))
      await bob.delete(`/ws/rest/a.Own/${id}`)
    }
    const seen: number[] = []
    for (let after = ''; ; ) {
      const { body } = await bob.get(`/ws/rest/a.Own/deleted?limit=2${after}`)
      t.equal(body.total, 3)
      seen.push(...body.data.map(({ id }: Made) => id))
      if (!body.next) break
      after = `&after=${body.next}`
    }
    t.strictSame(
      seen,
      seen.toSorted((a, b) => b - a),
    )
    t.equal(seen.length, 3)
    t.match((await bob.get('/ws/rest/a.Own/deleted?limit=0')).body, { total: 3, data: [] })
  })

  await t.test('to bring something back needs the right to write it', async (t) => {
    const { id } = await make(admin, 'a.Read', { text: 'a' })
    const restore = (data: object) => ann.post(`/ws/rest/a.Read/${id}/restore`, data)
    await change(admin, 'a.Read', id, { version: 0, text: 'b' })
    t.match((await restore({ version: 1, to: 0 })).body, { code: 'FORBIDDEN', message: /may not update/ })
    await admin.delete(`/ws/rest/a.Read/${id}`)
    t.match((await restore({})).body, { code: 'FORBIDDEN', message: /may not create/ })
  })

  await t.test('nothing but a secret', async (t) => {
    const { id } = await make(admin, 'a.Secret', { secret: 'sesame' })
    await change(admin, 'a.Secret', id, { version: 0, secret: 'other' })
    t.match((await admin.get(`/ws/rest/a.Secret/${id}/history`)).body.data, [{ changes: { secret: {} } }, {}])
    t.strictSame((await admin.get(`/ws/rest/a.Secret/${id}?version=0`)).body.data, [{ id, version: 0 }])
    await admin.delete(`/ws/rest/a.Secret/${id}`)
    t.strictSame((await admin.post(`/ws/rest/a.Secret/${id}/restore`, {})).body.data, [{ id, version: 2 }])
  })

  await t.test('forgotten: nothing is left but that there was something', async (t) => {
    const { id } = await make(admin, 'a.Contact', { firstName: 'Nobody', lastName: 'Known' })
    await change(admin, 'a.Contact', id, { version: 0, lastName: 'Unknown' })
    t.equal((await ann.delete(`/ws/rest/a.Contact/${id}/history`)).status, 403)
    t.match((await admin.delete('/ws/rest/a.Contact/999/history')).body, { code: 'RECORD_NOT_FOUND' })
    await admin.delete(`/ws/rest/a.Contact/${id}`)
    t.strictSame((await admin.delete(`/ws/rest/a.Contact/${id}/history`)).body.data, [id])
    const { body, text } = await admin.get(`/ws/rest/a.Contact/${id}/history`)
    t.match(body.data, [{ operation: 'forget', by: 'admin', changes: {} }, { operation: 'delete' }, {}, {}])
    t.strictSame(body.data[2].changes, { lastName: {} })
    t.notMatch(text, /Known|Unknown|Nobody/)
    t.match((await admin.get(`/ws/rest/a.Contact/${id}?version=0`)).body, { code: 'VERSION_NOT_FOUND' })
    t.match((await admin.post(`/ws/rest/a.Contact/${id}/restore`, {})).body, { code: 'VERSION_NOT_FOUND' })
    t.notOk((await admin.get('/ws/rest/a.Contact/deleted')).body.data.some((one: Made) => one.id === id))
    t.match((await admin.get(`/ws/rest/a.Contact/${id}`)).body.message, /admin deleted it/)
  })

  await t.test('a model without history', async (t) => {
    const { id } = await make(admin, 'a.Quiet', { n: 1 })
    await change(admin, 'a.Quiet', id, { version: 0, n: 2 })
    t.match((await admin.get(`/ws/rest/a.Quiet/${id}/history`)).body, { total: 0, data: [] })
    t.match((await admin.get(`/ws/rest/a.Quiet/${id}?version=0`)).body, { code: 'VERSION_NOT_FOUND' })
    const { body } = await admin.post(`/ws/rest/a.Quiet/${id}`, { version: 0, n: 3 })
    t.match(body, { code: 'VERSION_CONFLICT', data: [{ n: 2 }] })
    t.notOk('conflict' in body)
    t.equal(
      (await admin.send('POST', `/ws/rest/a.Quiet/${id}`, { data: { version: 0, n: 3 }, merge: true })).status,
      409,
    )
    t.match((await admin.send('POST', `/ws/rest/a.Quiet/${id}`, { data: { version: 1, n: 3 }, merge: true })).body, {
      merged: [],
    })
    await admin.delete(`/ws/rest/a.Quiet/${id}`)
    t.match((await admin.get('/ws/rest/a.Quiet/deleted')).body, { total: 0, data: [] })
  })
})

async function make(client: Client, model: string, data: object): Promise<Made> {
  const { body } = await client.put(`/ws/rest/${model}`, data)
  return body.data[0]
}

async function change(client: Client, model: string, id: number, data: object): Promise<Made> {
  const { body } = await client.post(`/ws/rest/${model}/${id}`, data)
  return body.data[0]
}
