import { Validator } from '@seriousme/openapi-schema-validator'
import t from 'tap'
import { CONTACT, startApp, THING } from '../helper.ts'

const MODELS = {
  'contacts.Contact.json': {
    ...CONTACT,
    nameField: 'fullName',
    description: 'Somebody',
    plural: { en: 'People', de: 'Leute' },
  },
  'test.Thing.json': {
    ...THING,
    properties: { ...THING.properties, who: { type: 'integer', reference: 'contacts.Contact' } },
    access: { read: ['things'], create: ['things', 'maker'], update: ['things'], delete: [] },
  },
}
const SHOWN = {
  type: 'object',
  properties: { text: { type: 'string' }, secret: { type: 'string', writeOnly: true } },
  access: { read: ['*'], create: [], update: ['fixer'], delete: [] },
}

t.test('one service', async (t) => {
  const service = await startApp(t, { models: MODELS })
  const admin = await service.login()
  await admin.put('/ws/users', { username: 'bob', roles: [] })
  const bob = await service.login('bob')

  await t.test('models and fields, as far as one may read them', async (t) => {
    t.strictSame((await admin.get('/ws/meta/models')).body, {
      status: 0,
      total: 2,
      data: ['contacts.Contact', 'test.Thing'],
    })
    t.strictSame((await bob.get('/ws/meta/models')).body, { status: 0, total: 1, data: ['contacts.Contact'] })
    t.equal((await service.stranger.get('/ws/meta/models')).status, 401)

    await admin.put('/ws/rest/contacts.Contact', { firstName: 'Ada' })
    const all = { read: true, create: true, update: true, delete: true }
    t.strictSame((await admin.get('/ws/meta/overview')).body.data, [
      {
        model: 'contacts.Contact',
        title: 'Contact',
        plural: 'People',
        description: 'Somebody',
        translations: { en: { plural: 'People' }, de: { plural: 'Leute' } },
        allowed: all,
        total: 1,
      },
      { model: 'test.Thing', title: 'Thing', allowed: all, total: 0 },
    ])
    await admin.put('/ws/users', { username: 'maker', roles: ['maker'] })
    const maker = await service.login('maker')
    t.strictSame(
      (await maker.get('/ws/meta/overview')).body.data[1],
      { model: 'test.Thing', title: 'Thing', allowed: { read: false, create: true, update: false, delete: false } },
      'who may not read them all is not told how many there are',
    )

    const { data } = (await bob.get('/ws/meta/fields/contacts.Contact')).body
    t.match(data, [
      {
        model: 'contacts.Contact',
        title: 'Contact',
        description: 'Somebody',
        translations: { de: { plural: 'Leute' } },
        nameField: 'fullName',
        list: ['fullName', 'email'],
      },
    ])
    t.match(
      data[0].fields.find(({ name }: { name: string }) => name === 'email'),
      { type: 'string', format: 'email', required: false, readOnly: false, unique: true },
    )
    t.match(data[0].fields[0], { name: 'id', type: 'integer', readOnly: true, unique: true })
    t.strictSame(data[0].allowed, { read: true, create: true, update: true, delete: true })

    const thing = (await admin.get('/ws/meta/fields/test.Thing')).body.data[0]
    const field = (name: string) => thing.fields.find((one: { name: string }) => one.name === name)
    t.match(field('color'), { enum: ['red', 'green'], default: 'red' })
    t.match(field('who'), { reference: 'contacts.Contact', onDelete: 'restrict' })
    t.match(field('secret'), { writeOnly: true, title: 'secret' })
    t.strictSame(
      [...thing.fields.slice(0, 3), thing.fields.at(-1)].map(({ name, title }: Record<string, string>) => [
        name,
        title,
      ]),
      [
        ['id', 'Id'],
        ['version', 'Version'],
        ['text', 'text'],
        ['who', 'who'],
      ],
      'in the order of the file',
    )
    t.match(
      (await bob.get('/ws/meta/fields/test.Thing')).body,
      { code: 'MODEL_NOT_FOUND' },
      'not there for who may not read it',
    )
    t.notMatch((await bob.get('/ws/meta/fields/test.Thin')).text, /test\.Thing/)
    await admin.post('/ws/users/bob', { roles: ['maker'] })
    const made = (await bob.get('/ws/meta/fields/test.Thing')).body.data[0]
    t.strictSame(made.allowed, { read: false, create: true, update: false, delete: false }, 'who may only create')
    t.ok(made.fields.some(({ name }: { name: string }) => name === 'secret'))
    t.strictSame((await bob.get('/ws/meta/models')).body.data, ['contacts.Contact'])
    t.strictSame((await bob.get('/ws/meta/models?allowed=create')).body.data, ['contacts.Contact', 'test.Thing'])
    t.match((await bob.get('/ws/meta/models?allowed=fly')).body, {
      code: 'BAD_REQUEST',
      message: /one of read, create/,
    })
    t.equal((await bob.get('/ws/meta/models?alowed=read')).status, 400)
    t.match((await admin.get('/ws/meta/fields/test.Thin')).body, { message: /test\.Thing/ })
    t.match((await admin.get('/ws/meta/fields/__proto__')).body, { code: 'MODEL_NOT_FOUND' })
  })

  await t.test('OpenAPI describes what is served, and nothing else', async (t) => {
    t.equal((await service.stranger.get('/openapi.json')).status, 401)
    const { body } = await admin.get('/openapi.json')
    t.match(await new Validator().validate(structuredClone(body)), { valid: true })
    t.equal(body.openapi, '3.1.0')
    t.strictSame(
      Object.keys(body.paths).sort(),
      [
        '/callback',
        '/client.js',
        '/client.ts',
        '/health',
        '/login.jsp',
        '/logout',
        '/metrics',
        '/openapi.json',
        ...['contacts.Contact', 'test.Thing'].flatMap((name) => [
          `/ws/rest/${name}`,
          `/ws/rest/${name}/search`,
          `/ws/rest/${name}/aggregate`,
          `/ws/rest/${name}/{id}`,
          `/ws/rest/${name}/{id}/history`,
          `/ws/rest/${name}/{id}/restore`,
          `/ws/rest/${name}/deleted`,
          `/ws/rest/${name}/export`,
          `/ws/rest/${name}/import`,
        ]),
        '/ws/batch',
        '/ws/changes',
        '/ws/changes/stream',
        '/ws/changes/{change}/undo',
        '/ws/files/preview',
        '/ws/me',
        '/ws/me/password',
        '/ws/me/sessions',
        '/ws/me/sessions/{id}',
        '/ws/me/tokens',
        '/ws/me/tokens/{id}',
        '/ws/meta/fields/{model}',
        '/ws/meta/models',
        '/ws/meta/overview',
        '/ws/models',
        '/ws/models/{model}',
        '/ws/models/{model}/draft',
        '/ws/models/{model}/earlier/{id}',
        '/ws/models/{model}/plan',
        '/ws/views',
        '/ws/views/{id}',
        '/ws/roles',
        '/ws/search',
        '/ws/state/backups',
        '/ws/state/models',
        '/ws/users',
        '/ws/users/{username}',
        '/ws/users/{username}/sessions',
        '/ws/users/{username}/sessions/{id}',
        '/ws/users/{username}/tokens',
        '/ws/users/{username}/tokens/{id}',
      ].sort(),
    )
    const update = body.paths['/ws/rest/contacts.Contact/{id}'].post
    t.strictSame(Object.keys(update.responses).sort(), [
      '200',
      '400',
      '401',
      '403',
      '404',
      '409',
      '412',
      '422',
      'default',
    ])
    const conflict = body.components.responses.ContactsContactConflict
    t.match(conflict.description, /VERSION_CONFLICT, 409 NOT_UNIQUE/)
    const find = body.paths['/ws/rest/contacts.Contact'].get
    const names = find.parameters.map(({ name, $ref }: { name?: string; $ref?: string }) => name ?? $ref)
    t.ok(
      ['email', 'email[like]', 'id[in]', '#/components/parameters/DossierLimit'].every((name) => names.includes(name)),
    )
    const { schemas } = body.components
    t.match(schemas.ContactsContactChange.examples, [{ email: 'ada@example.org' }], 'bodies have examples')
    t.match(schemas.ContactsContactRow.examples, [{ email: 'ada@example.org' }], 'and so have answers')
    t.match(
      JSON.stringify(body.components.responses.DossierNotFound),
      /"code":"RECORD_NOT_FOUND","message"/,
      'and failures',
    )
    t.notMatch(JSON.stringify(body), /storable/)
    const things = body.paths['/ws/rest/test.Thing'].get
    t.notMatch(JSON.stringify(things), /secret/, 'what is never returned is not described as if it were')
    t.notOk(things.parameters.some(({ name }: { name: string }) => name === 'tags'))
  })
})

t.test('what is never shown is told to who may write it', async (t) => {
  const app = await startApp(t, { models: { 'a.Shown.json': SHOWN } })
  const admin = await app.login()
  await admin.put('/ws/users', { username: 'bob', roles: [] })
  const bob = await app.login('bob')
  const names = async () =>
    (await bob.get('/ws/meta/fields/a.Shown')).body.data[0].fields.map(({ name }: { name: string }) => name)
  t.notOk((await names()).includes('secret'))
  await admin.post('/ws/users/bob', { roles: ['fixer'] })
  t.ok((await names()).includes('secret'))
})
