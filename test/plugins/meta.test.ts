import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Validator } from '@seriousme/openapi-schema-validator'
import openapiTS, { astToString } from 'openapi-typescript'
import t from 'tap'
import { CONTACT, emptyFolder, PASSWORD, startApp, THING } from '../helper.ts'

const MODELS = {
  'contacts.Contact.json': { ...CONTACT, nameField: 'fullName', description: 'Somebody' },
  'test.Thing.json': {
    ...THING,
    properties: { ...THING.properties, who: { type: 'integer', reference: 'contacts.Contact' } },
    access: { read: ['things'], delete: [] },
  },
}

async function withUser(t: Parameters<typeof startApp>[0]) {
  const service = await startApp(t, { models: MODELS })
  const admin = await service.login()
  await admin.put('/ws/users', { username: 'bob', password: PASSWORD, roles: [] })
  return { service, admin, bob: await service.login('bob') }
}

t.test('models and fields, as far as one may read them', async (t) => {
  const { admin, bob, service } = await withUser(t)
  t.strictSame((await admin.get('/ws/meta/models')).body, {
    status: 0,
    total: 2,
    data: ['contacts.Contact', 'test.Thing'],
  })
  t.strictSame((await bob.get('/ws/meta/models')).body, { status: 0, total: 1, data: ['contacts.Contact'] })
  t.equal((await service.stranger.get('/ws/meta/models')).status, 401)

  const { data } = (await bob.get('/ws/meta/fields/contacts.Contact')).body
  t.match(data, [
    {
      model: 'contacts.Contact',
      title: 'Contact',
      description: 'Somebody',
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
  t.equal(field('secret'), undefined)
  t.match(
    (await bob.get('/ws/meta/fields/test.Thing')).body,
    { code: 'MODEL_NOT_FOUND' },
    'not there for who may not read it',
  )
  t.notMatch((await bob.get('/ws/meta/fields/test.Thin')).text, /test\.Thing/)
  t.match((await admin.get('/ws/meta/fields/test.Thin')).body, { message: /test\.Thing/ })
  t.match((await admin.get('/ws/meta/fields/__proto__')).body, { code: 'MODEL_NOT_FOUND' })
})

t.test('OpenAPI describes what is served, and nothing else', async (t) => {
  const { admin, service } = await withUser(t)
  t.equal((await service.stranger.get('/openapi.json')).status, 401)
  const { body } = await admin.get('/openapi.json')
  t.match(await new Validator().validate(structuredClone(body)), { valid: true })
  t.equal(body.openapi, '3.1.0')
  t.strictSame(
    Object.keys(body.paths).sort(),
    [
      '/callback',
      '/health',
      '/login.jsp',
      '/logout',
      '/metrics',
      '/openapi.json',
      ...['contacts.Contact', 'test.Thing'].flatMap((name) => [
        `/ws/rest/${name}`,
        `/ws/rest/${name}/search`,
        `/ws/rest/${name}/{id}`,
      ]),
      '/ws/me',
      '/ws/me/password',
      '/ws/me/sessions',
      '/ws/me/sessions/{id}',
      '/ws/meta/fields/{model}',
      '/ws/meta/models',
      '/ws/users',
      '/ws/users/{username}',
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
    '413',
    '415',
    '422',
    '500',
    '503',
    '507',
  ])
  t.match(update.responses['409'].description, /VERSION_CONFLICT, NOT_UNIQUE/)
  const find = body.paths['/ws/rest/contacts.Contact'].get
  const names = find.parameters.map(({ name }: { name: string }) => name)
  t.ok(
    ['offset', 'limit', 'after', 'sort', 'fields', 'expand', 'email', 'email[like]', 'id[in]'].every((name) =>
      names.includes(name),
    ),
  )
  t.match(JSON.stringify(update.requestBody), /"email":"ada@example.org"/, 'bodies have examples')
  t.match(JSON.stringify(find.responses['200']), /"email":"ada@example.org"/, 'and so have answers')
  t.match(JSON.stringify(update.responses['409']), /"code":"VERSION_CONFLICT","message"/, 'and failures')
  t.notMatch(JSON.stringify(body), /storable/)
  const things = body.paths['/ws/rest/test.Thing'].get
  t.notMatch(JSON.stringify(things), /secret/, 'what is never returned is not described as if it were')
  t.notOk(things.parameters.some(({ name }: { name: string }) => name === 'tags'))
})

t.test('a generated client type-checks', async (t) => {
  const { admin } = await withUser(t)
  const { body } = await admin.get('/openapi.json')
  const folder = emptyFolder(t)
  writeFileSync(join(folder, 'api.ts'), astToString(await openapiTS(body)))
  writeFileSync(
    join(folder, 'client.ts'),
    `import type { paths } from './api.ts'
type Contact = paths['/ws/rest/contacts.Contact/{id}']['get']['responses']['200']['content']['application/json']['data'][number]
type NewContact = paths['/ws/rest/contacts.Contact']['put']['requestBody']['content']['application/json']['data']
type Query = NonNullable<paths['/ws/rest/contacts.Contact']['get']['parameters']['query']>
export const created: NewContact = { firstName: 'Ada', email: null }
export const name = (contact: Contact): string | null | undefined => contact.email
export const version = (contact: Contact): number => contact.version
export const query: Query = { offset: 0, sort: '-id', 'email[like]': 'a' }
// @ts-expect-error a number is not a text
export const wrong: NewContact = { firstName: 5 }
`,
  )
  const tsc = join(import.meta.dirname, '../../node_modules/typescript-7/bin/tsc')
  const options = [
    '--noEmit',
    '--strict',
    '--skipLibCheck',
    '--module',
    'nodenext',
    '--allowImportingTsExtensions',
    '--types',
    '',
  ]
  const result = await promisify(execFile)(process.execPath, [tsc, ...options, join(folder, 'client.ts')]).catch(
    (error) => error,
  )
  t.equal(result.stdout, '')
})
