import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { type Client, playScenarios } from '../client.ts'
import { isPostgres } from '../engine.ts'
import { logSink, startApp, writeModel } from '../helper.ts'

const model = (properties: object, more: object = {}) => ({
  type: 'object',
  properties: { name: { type: 'string' }, ...properties },
  ...more,
})
const refersTo = (reference: string, more: object = {}) => ({ type: 'integer', reference, ...more })

const MODELS = {
  'geo.Country.json': model({}, { access: { read: ['*'], create: ['*'], update: ['*'], delete: ['*'] } }),
  'crm.Company.json': model(
    { country: refersTo('geo.Country'), boss: refersTo('crm.Person', { onDelete: 'clear' }) },
    { list: ['name'] },
  ),
  'crm.Person.json': model({ company: refersTo('crm.Company'), mentor: refersTo('crm.Person', { onDelete: 'clear' }) }),
  'crm.Note.json': model(
    { user: refersTo('crm.Person', { onDelete: 'cascade' }), about: refersTo('crm.Company', { onDelete: 'clear' }) },
    { audit: false },
  ),
  'crm.Secret.json': model(
    { owner: refersTo('crm.Person') },
    { access: { read: ['chief', { role: 'agent', where: 'own' }], create: ['*'], update: ['*'], delete: ['*'] } },
  ),
  'crm.File.json': model({ secret: refersTo('crm.Secret'), cover: refersTo('crm.Secret') }),
}
const path = (name: string, id?: number) => `/ws/rest/crm.${name}${id === undefined ? '' : `/${id}`}`

async function withRecords(t: Parameters<typeof startApp>[0], logger?: Parameters<typeof startApp>[1]) {
  const service = await startApp(t, { models: MODELS, ...logger })
  const client = await service.login()
  for (const name of ['Norway', 'Chile']) await client.put('/ws/rest/geo.Country', { name })
  await client.put(path('Company'), { name: 'Acme', country: 1 })
  await client.put(path('Company'), { name: 'Bolt', country: 2 })
  await client.put(path('Person'), { name: 'Ada', company: 1 })
  await client.put(path('Person'), { name: 'Bob', company: 2, mentor: 1 })
  await client.put(path('Person'), { name: 'Cy' })
  await client.put(path('Note'), { name: 'n1', user: 2, about: 1 })
  return { service, client }
}

t.test('one set of records', async (t) => {
  const { service, client } = await withRecords(t)

  await t.test('a reference names a record that exists, or the write is refused', async (t) => {
    await playScenarios(t, client, [
      {
        name: 'create',
        method: 'PUT',
        path: path('Person'),
        body: { data: { name: 'X', company: 99, mentor: 98 } },
        status: 409,
        code: 'REFERENCE_VIOLATION',
        has: ['"company":"there is no crm.Company with the id 99"', '"mentor":'],
      },
      {
        name: 'update',
        method: 'POST',
        path: path('Person', 1),
        body: { data: { version: 0, name: 'X', company: 99, mentor: null } },
        status: 409,
        code: 'REFERENCE_VIOLATION',
        has: ['"company":'],
        hasNot: ['"mentor":'],
      },
      {
        name: 'delete',
        method: 'DELETE',
        path: path('Company', 1),
        status: 409,
        code: 'REFERENCE_VIOLATION',
        has: ['crm.Person (company) still refer to crm.Company 1'],
      },
      {
        name: 'a type',
        method: 'PUT',
        path: path('Person'),
        body: { data: { company: 'Acme' } },
        status: 422,
        code: 'VALIDATION_FAILED',
        has: ['"company":'],
      },
    ])
    t.match(
      (await client.get(path('Person', 1))).body.data,
      [{ name: 'Ada', version: 0, company: 1 }],
      'nothing was changed',
    )
  })

  await t.test('expand: records instead of ids, one statement per step', async (t) => {
    const user = async (query: string) => (await client.get(`${path('Person')}?id=2&${query}`)).body.data[0]
    t.match(await user('expand=company'), { company: { id: 2, version: 0, name: 'Bolt' }, mentor: 1 })
    t.notOk('country' in (await user('expand=company')).company, 'the list form')
    t.match(await user('expand=company.country,mentor.company'), {
      company: { name: 'Bolt', country: { id: 2, name: 'Chile' } },
      mentor: { name: 'Ada', company: { name: 'Acme' } },
    })
    t.strictSame((await user('fields=name&expand=company')).company.name, 'Bolt', 'what is expanded is returned')
    t.equal((await client.get(`${path('Person')}?id=3&expand=company`)).body.data[0].company, null)
    t.match((await client.get(`${path('Person', 2)}?expand=company`)).body.data[0], {
      company: { name: 'Bolt' },
      createdBy: 'admin',
    })
    t.match(
      (await client.send('POST', `${path('Person')}/search`, { data: {}, expand: ['company'], limit: 1 })).body.data[0],
      { company: { name: 'Acme' } },
    )
    await playScenarios(t, client, [
      {
        name: 'too far',
        path: `${path('Person')}?expand=mentor.mentor.mentor.mentor`,
        status: 400,
        code: 'BAD_REQUEST',
        has: ['more than 3'],
      },
      {
        name: 'not a reference',
        path: `${path('Person')}?expand=company.name`,
        status: 400,
        code: 'BAD_REQUEST',
        has: ['not a reference'],
      },
      {
        name: 'a typo',
        path: `${path('Person')}?expand=compnay`,
        status: 400,
        code: 'BAD_REQUEST',
        has: ['Did you mean \\"company\\"'],
      },
    ])
  })

  await t.test('filters through references', async (t) => {
    const ids = async (query: string) =>
      (await client.get(`${path('Person')}?${query}`)).body.data.map(({ id }: { id: number }) => id)
    t.strictSame(await ids('company.name=Acme'), [1])
    t.strictSame(await ids('company.name[like]=o'), [2])
    t.strictSame(await ids('company.name[ne]=Acme'), [2, 3], 'who has no company has not that one')
    t.strictSame(await ids('company.country.name=Chile'), [2])
    t.strictSame(await ids('mentor.company.country.name=Norway'), [2])
    t.strictSame(await ids('company.name[null]=true'), [3])
    t.strictSame(await ids('company.name[null]=false'), [1, 2])
    t.strictSame(await ids('company=1'), [1])
    t.equal((await client.get(`${path('Person')}?mentor.mentor.mentor.mentor.name=x`)).status, 400)
  })

  await t.test('sorting through references', async (t) => {
    const ids = async (query: string) =>
      (await client.get(`${path('Person')}?${query}`)).body.data.map(({ id }: { id: number }) => id)
    t.strictSame(await ids('sort=company.name'), [3, 1, 2], 'who has no company comes first')
    t.strictSame(await ids('sort=-company.name'), [2, 1, 3])
    t.strictSame(await ids('sort=company.country.name'), [3, 2, 1])
    t.strictSame(await ids('sort=-mentor.name'), [2, 1, 3], 'a model that refers to itself')
    t.strictSame(await ids('sort=-mentor.company.country.name,-id'), [2, 3, 1])
    const seen: number[] = []
    for (let after = ''; ; ) {
      const { body } = await client.get(`${path('Person')}?sort=-company.name&limit=1&fields=name${after}`)
      t.strictSame(Object.keys(body.data[0]), ['id', 'version', 'name'])
      seen.push(body.data[0].id)
      if (!body.next) break
      after = `&after=${body.next}`
    }
    t.strictSame(seen, [2, 1, 3], 'page by page')
    const exported = await fetch(`${service.url}${path('Person')}/export?sort=-company.name&fields=name`, {
      headers: { cookie: client.cookie as string },
    })
    t.match(await exported.text(), /Bob[\s\S]*Ada[\s\S]*Cy/)
    const bad = (name: string, query: string, has: string) => ({
      name,
      path: `${path('Person')}?${query}`,
      status: 400,
      code: 'BAD_REQUEST',
      has: [has],
    })
    await playScenarios(t, client, [
      bad('no reference', 'sort=name.x', 'not a reference'),
      bad('too far', 'sort=mentor.mentor.mentor.mentor.name', 'more than 3'),
      bad('twice', 'sort=company.name,-company.name', '\\"company.name\\" occurs twice'),
      bad('too many', `sort=${'name,'.repeat(31)}id`, 'more than 30'),
    ])
  })

  await t.test('the rules of the model referred to hold on the way there', async (t) => {
    const admin = client
    for (const [username, roles] of Object.entries({ agent: ['agent'], other: ['agent'], nobody: [] }))
      await admin.put('/ws/users', { username, roles })
    const [agent, other, nobody] = (await Promise.all(
      ['agent', 'other', 'nobody'].map((name) => service.login(name)),
    )) as [Client, Client, Client]
    await agent.put(path('Secret'), { name: 'plan' })
    await admin.put(path('File'), { name: 'f', secret: 1 })
    const file = async (client: Client, query: string) => (await client.get(`${path('File')}?${query}`)).body
    t.match(await file(admin, 'expand=secret'), { data: [{ secret: { name: 'plan' } }] })
    t.match(await file(agent, 'expand=secret'), { data: [{ secret: { name: 'plan' } }] })
    t.match(await file(other, 'expand=secret'), { data: [{ secret: 1 }] })
    t.match(await file(nobody, 'expand=secret'), { data: [{ secret: 1 }] })
    t.equal((await file(agent, 'secret.name=plan')).total, 1)
    t.equal((await file(other, 'secret.name=plan')).total, 0, 'what one may not see one cannot find by')
    t.match(await file(nobody, 'secret.name=plan'), { code: 'FORBIDDEN' })
    await admin.put(path('File'), { name: 'without a secret' })
    const sorted = async (client: Client) => (await file(client, 'sort=-secret.name,-id&limit=1')).data[0].name
    t.equal(await sorted(agent), 'f')
    t.equal(await sorted(other), 'without a secret', 'what one may not read sorts as not set')
    t.equal(await sorted(nobody), 'without a secret')
    await admin.delete(path('File', 2))
    const refer = (client: Client) => client.put(path('File'), { name: 'g', secret: 1 })
    t.equal((await refer(agent)).status, 200)
    t.match((await refer(other)).body, {
      code: 'REFERENCE_VIOLATION',
      errors: { secret: 'there is no crm.Secret with the id 1' },
    })
    t.match((await other.put(path('File'), { name: 'g', secret: 1, cover: 9 })).body, {
      errors: { secret: 'there is no crm.Secret with the id 1', cover: 'there is no crm.Secret with the id 9' },
    })
    t.match(
      (await nobody.post(path('File', 1), { version: 0, secret: 1 })).body,
      { status: 0 },
      'sent back as it was read',
    )
    t.match((await nobody.post(path('File', 1), { version: 1, secret: 9 })).body, { code: 'REFERENCE_VIOLATION' })
    t.match((await nobody.post(path('File', 1), { version: 1, cover: 1 })).body, { code: 'REFERENCE_VIOLATION' })
    t.equal((await other.put(path('File'), { name: 'h', secret: null })).status, 200)
    t.match((await nobody.get(`${path('Secret')}/search`)).body, { code: 'FORBIDDEN' })
  })

  // Last, because it deletes.
  await t.test('what becomes of those who refer', async (t) => {
    await client.post(path('Company', 2), { version: 0, boss: 1 })
    const before = (await client.get(path('Person', 2))).body.data[0]
    t.equal((await client.delete(path('Person', 1))).status, 200)
    const bob = (await client.get(path('Person', 2))).body.data[0]
    t.match(bob, { mentor: null, version: 1 }, 'cleared, which counts as an update')
    t.ok(bob.updatedOn >= before.updatedOn)
    t.match((await client.get(path('Company', 2))).body.data, [{ boss: null, version: 2 }])
    t.equal((await client.delete(path('Person', 2))).status, 200)
    t.equal((await client.get(path('Note', 1))).status, 404, 'cascaded')

    await client.put(path('Note'), { name: 'n2', about: 1 })
    await client.delete(path('Company', 1))
    t.match((await client.get(path('Note', 2))).body.data, [{ about: null, version: 1 }], 'without audit fields too')

    const { id } = (await client.put(path('Person'), { name: 'Self' })).body.data[0]
    t.equal((await client.post(path('Person', id), { version: 0, mentor: id })).status, 200)
    t.equal((await client.delete(path('Person', id))).status, 200, 'a record that refers to itself')
  })
})

const CLOSED = { read: ['chief'], create: ['*'], update: ['*'], delete: ['*'] }
const OWN = { ...CLOSED, read: [{ role: '*', where: 'own' }] }
const CLEARED = refersTo('c.One', { onDelete: 'clear' })
const EIGHT = Object.fromEntries(Array.from({ length: 8 }, (_, n) => [`r${n}`, refersTo('big.Node')]))

/** Models of several tests, each with a letter of its own. */
const MANY = {
  'a.One.json': model({}),
  'a.Two.json': model({ one: refersTo('a.One', { onDelete: 'cascade' }) }),
  'a.Three.json': model({ two: refersTo('a.Two') }),
  'b.Open.json': { type: 'object', properties: { x: { type: 'string' } } },
  'b.Secret.json': { type: 'object', properties: { to: refersTo('b.Open') }, access: { read: ['chief'] } },
  'c.One.json': { type: 'object', properties: { x: { type: 'string' }, next: CLEARED } },
  'c.Two.json': { type: 'object', properties: { first: CLEARED, second: CLEARED } },
  'c.Plain.json': { type: 'object', audit: false, properties: { first: CLEARED } },
  'd.Hidden.json': model({}, { access: CLOSED }),
  'd.File.json': model({ hidden: refersTo('d.Hidden'), code: { type: 'string', unique: true } }, { access: CLOSED }),
  'e.Hidden.json': model({}, { access: CLOSED }),
  'e.File.json': model({ hidden: refersTo('e.Hidden') }),
  'e.Own.json': model({ hidden: refersTo('e.Hidden') }, { access: OWN }),
  'big.Node.json': model({ text: { type: 'string' }, ...EIGHT }),
}

t.test('many models', async (t) => {
  const service = await startApp(t, { models: MANY })
  const admin = await service.login()

  await t.test('a cascade that meets a restrict', async (t) => {
    await admin.put('/ws/rest/a.One', {})
    await admin.put('/ws/rest/a.Two', { one: 1 })
    await admin.put('/ws/rest/a.Three', { two: 1 })
    t.match((await admin.delete('/ws/rest/a.One/1')).body, {
      code: 'REFERENCE_VIOLATION',
      message:
        /Records that you do not see, that the same batch has made, or that would be deleted with it, still refer/,
    })
    t.equal((await admin.get('/ws/rest/a.Two/1')).status, 200)
  })

  await t.test('a refused delete names nothing that the user may not read', async (t) => {
    await admin.put('/ws/users', { username: 'ben' })
    await admin.put('/ws/rest/b.Open', { x: '1' })
    await admin.put('/ws/rest/b.Secret', { to: 1 })
    const bob = await service.login('ben')
    const refused = await bob.delete('/ws/rest/b.Open/1')
    t.match(refused.body, { code: 'REFERENCE_VIOLATION', message: /^Records that you do not see/ })
    t.notMatch(refused.text, /Secret/)
    t.match((await admin.delete('/ws/rest/b.Open/1')).body, { message: /^b\.Secret \(to\) still refer/ })
  })

  await t.test('what is cleared is changed once, by whoever deletes', async (t) => {
    await admin.put('/ws/users', { username: 'bob' })
    const bob = await service.login('bob')
    for (let i = 0; i < 2; i++) await admin.put('/ws/rest/c.One', { x: 'x' })
    await admin.post('/ws/rest/c.One/1', { version: 0, next: 1 })
    await admin.put('/ws/rest/c.Two', { first: 1, second: 1 })
    await admin.put('/ws/rest/c.Two', { first: 1, second: 2 })
    await admin.put('/ws/rest/c.Plain', { first: 1 })
    t.equal((await bob.delete('/ws/rest/c.One/1?version=1')).status, 200)
    const both = (await admin.get('/ws/rest/c.Two?fields=first,second,updatedBy,createdBy')).body.data
    t.match(both, [
      { version: 1, first: null, second: null, updatedBy: 'bob', createdBy: 'admin' },
      { version: 1, first: null, second: 2, updatedBy: 'bob' },
    ])
    t.match((await admin.get('/ws/rest/c.Plain/1')).body.data, [{ version: 1, first: null }])
    t.equal((await bob.delete('/ws/rest/c.One/9')).status, 404)
    t.equal((await bob.delete('/ws/rest/c.One/2?version=7')).status, 409)
    // Elsewhere it is forgotten with the transaction.
    if (!isPostgres)
      t.strictSame(await service.storage.read({ sql: 'SELECT username FROM dossier_actor', parameters: [] }), [
        { username: null },
      ])
  })

  await t.test('expand is bounded', async (t) => {
    const nodes = '/ws/rest/big.Node'
    await admin.put(nodes, { name: 'root', text: 'x'.repeat(900_000) })
    const all = Object.fromEntries(Object.keys(EIGHT).map((name) => [name, 1]))
    for (let n = 0; n < 5; n++) await admin.put(nodes, { name: `node ${n}`, ...all })
    for (let n = 0; n < 5; n++) await admin.put(nodes, { name: `leaf ${n}`, r0: 2, r1: 3, r2: 4 })
    const paths = ['r0', 'r1', 'r2'].flatMap((first) => Object.keys(EIGHT).map((second) => `${first}.${second}`))
    t.match(await admin.get(`${nodes}?expand=${[...paths, ...paths].join()}`), {
      status: 400,
      body: { message: /more than 30 paths/ },
    })
    const search = { expand: [...paths, ...paths], data: {} }
    t.match(await admin.send('POST', `${nodes}/search`, search), { status: 400 })
    t.match(
      await admin.get(`${nodes}/7?expand=${paths.join()}`),
      { status: 413, body: { code: 'BODY_TOO_LARGE', message: /fewer paths/ } },
      'one record that leads to megabytes by 24 paths',
    )
    const found = await admin.get(`${nodes}?sort=-id&limit=500&expand=r0.r0,r1`)
    t.equal(found.status, 200)
    t.ok(found.text.length < 6_000_000, 'a page ends when it is large enough')
    t.ok(found.body.data.length >= 1)
    t.ok(found.body.next, 'and goes on')
    // However many pages that are, all records come, each complete.
    const seen: number[] = []
    for (let after = ''; ; ) {
      const { body } = await admin.get(`${nodes}?limit=500&expand=r0,r1&fields=name${after}`)
      for (const { id, r0 } of body.data) {
        seen.push(id)
        if (id > 1) t.type(r0, 'object', `the reference of ${id} is expanded`)
      }
      if (!body.next) break
      after = `&after=${body.next}`
    }
    t.strictSame(
      seen,
      Array.from({ length: 11 }, (_, n) => n + 1),
    )
  })

  await t.test('who may update but not read learns nothing by trying', async (t) => {
    for (const name of ['one', 'two']) await admin.put('/ws/rest/d.Hidden', { name })
    await admin.put('/ws/rest/d.File', { name: 'file', code: 'c', hidden: 2 })
    await admin.put('/ws/users', { username: 'blind', roles: [] })
    const blind = await service.login('blind')
    const outcomes = async (hidden: number) => {
      const { version } = (await admin.get('/ws/rest/d.File/1')).body.data[0]
      const told = ({ status, body }: { status: number; body: { code?: string; errors?: object } }) =>
        JSON.stringify([status, body.code, body.errors]).replaceAll(`id ${hidden}`, 'id N')
      const rows = (text: string) =>
        blind.send('POST', '/ws/rest/d.File/import?key=code&dryRun=true', text, { 'content-type': 'text/csv' })
      return [
        told(await blind.post('/ws/rest/d.File/1', { version, hidden })),
        told(await blind.send('POST', '/ws/rest/d.File/1', { merge: true, data: { version, hidden } })),
        told(await blind.post('/ws/batch', [{ update: 'd.File', data: { id: 1, version, hidden } }])),
        told(await rows(`code,hidden\nc,${hidden}\n`)),
      ]
    }
    t.strictSame(await outcomes(2), await outcomes(1), 'what it refers to looks like what it does not')
    t.strictSame(await outcomes(2), await outcomes(9), 'and like what is not there')
  })

  await t.test('what was read before others changed a hidden reference is a conflict', async (t) => {
    for (const name of ['one', 'two']) await admin.put('/ws/rest/e.Hidden', { name })
    await admin.put('/ws/rest/e.File', { name: 'file', hidden: 1 })
    await admin.put('/ws/rest/e.Own', { name: 'own', hidden: 1 })
    await admin.put('/ws/users', { username: 'clerk', roles: [] })
    const clerk = await service.login('clerk')
    const [read] = (await clerk.get('/ws/rest/e.File/1')).body.data
    await admin.post('/ws/rest/e.File/1', { version: 0, hidden: 2 })
    t.match(await clerk.post('/ws/rest/e.File/1', read), {
      status: 409,
      body: { code: 'VERSION_CONFLICT', data: [{ version: 1, hidden: 2 }], conflict: { clashes: ['hidden'] } },
    })
    t.match(await clerk.post('/ws/rest/e.File/1', { version: 1, hidden: 1 }), { body: { code: 'REFERENCE_VIOLATION' } })
    await admin.post('/ws/rest/e.Own/1', { version: 0, hidden: 2 })
    t.match(await clerk.post('/ws/rest/e.Own/1/restore', { version: 1, to: 0 }), { status: 404 }, 'nor by a restore')
  })
})

t.test('an index is advised for the way through a reference', async (t) => {
  const { lines, stream } = logSink()
  const { service, client } = await withRecords(t, { log: stream, env: { LOG_LEVEL: 'warn' } })
  await service.db.updateTable('crm__Person').set({ id: 30_000 }).where('id', '=', 3).execute()
  await client.get(`${path('Person')}?company.name=Acme`)
  t.strictSame(lines, [], 'references have one')
  await client.get(`${path('Person')}?company.name=Acme&sort=name`)
  t.match(lines, [/\[\[\\"company\\",\\"name\\"\]\]/])
})

t.test('a table that refers to others is made anew, after a backup that is found healthy', async (t) => {
  const log = (n: string) => model({ n: { type: n }, about: refersTo('a.Log'), of: refersTo('a.Other') })
  const models = { 'a.Other.json': model({}), 'a.Log.json': log('integer') }
  const service = await startApp(t, { models })
  const client = await service.login()
  await client.put('/ws/rest/a.Other', { name: 'x' })
  await client.put('/ws/rest/a.Log', { n: 1, of: 1 })
  await client.post('/ws/rest/a.Log/1', { version: 0, about: 1 })
  writeModel(service.folder, 'a.Log.json', log('number'))
  await service.service.reload()
  t.match((await client.get('/health')).body.data, [{ models: { current: true } }])
  t.equal((await client.put('/ws/rest/a.Log', { n: 1.5, of: 1 })).status, 200)
  if (!isPostgres)
    t.equal(readdirSync(join(service.config.DATA_DIR, 'backups')).filter((name) => name.endsWith('.db')).length, 1)
})

t.test('whatever was read can be sent back, and nothing is changed by that', async (t) => {
  const { service, client } = await (async () => {
    const service = await startApp(t, { models: MODELS })
    return { service, client: await service.login() }
  })()
  await client.put('/ws/rest/geo.Country', { name: 'Norway' })
  await client.put(path('Company'), { name: 'Acme', country: 1 })
  await client.put(path('Person'), { name: 'Ada', company: 1 })
  await client.put(path('Secret'), { name: 'hidden', owner: 1 })
  await client.put(path('File'), { name: 'file', secret: 1 })
  await client.put('/ws/users', { username: 'reader', roles: [] })
  const reader = await service.login('reader')
  const stored = async () => {
    const { id, version, name, secret, cover } = (await client.get(path('File', 1))).body.data[0]
    return { id, version, name, secret, cover }
  }
  const expected = { id: 1, version: 0, name: 'file', secret: 1, cover: null }
  const sendBack = async (what: string, record: Record<string, unknown>) => {
    expected.version++
    const answer = await reader.post(path('File', 1), record)
    t.equal(answer.status, 200, `${what}: ${answer.text}`)
    t.strictSame(await stored(), expected, what)
    return answer.body.data[0]
  }
  const one = async (address: string) => (await reader.get(address)).body.data[0]
  const read = await one(`${path('File', 1)}?expand=secret,cover`)
  t.equal(read.secret, 1, 'of what may not be read there is the id')
  await sendBack('a read with expand', read)
  await sendBack('a read', await one(path('File', 1)))
  await sendBack('deeper', await one(`${path('File', 1)}?expand=secret.owner.company`))
  const written = await sendBack('one of a find', await one(`${path('File')}?expand=secret&fields=secret,cover`))
  await sendBack('what a write was answered', written)
  const conflict = await reader.post(path('File', 1), { version: 0, name: 'other' })
  t.equal(conflict.status, 409)
  await sendBack('the record of a conflict', conflict.body.data[0])
  const { version } = await stored()
  const batch = await reader.post('/ws/batch', [{ update: 'crm.File', data: { id: 1, version } }])
  expected.version++
  await sendBack('the result of a batch', batch.body.data[0])
  const merge = await reader.send('POST', path('File', 1), { merge: true, data: { version: 0, cover: null } })
  t.equal(merge.status, 200)
  expected.version++
  await sendBack('what was merged', merge.body.data[0])
  const restored = await reader.post(`${path('File', 1)}/restore`, { version: (await stored()).version, to: 0 })
  expected.version++
  await sendBack('what was restored', restored.body.data[0])
  const past = await one(`${path('File', 1)}?version=2`)
  await sendBack('the record as it was', { ...past, version: (await stored()).version })
})
