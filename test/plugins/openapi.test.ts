import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import openapiTS, { astToString } from 'openapi-typescript'
import t from 'tap'
import { buildApp } from '../../src/app.ts'
import { HELP, openapiCommand } from '../../src/cli/openapi.ts'
import { createLogger } from '../../src/logging.ts'
import type { Field } from '../../src/model/model.ts'
import { componentsNamed } from '../../src/openapi/component-names.ts'
import { fieldExample } from '../../src/openapi/examples.ts'
import { openStorage } from '../../src/storage/sqlite/engine.ts'
import { Metrics } from '../../src/upkeep/metrics.ts'
import { MODELS } from '../clients/models.ts'
import { commandRunner, runScript, runTool } from '../commands.ts'
import { documentOnly } from '../engine.ts'
import { configOf, emptyFolder, makeFolder, modelOf, startApp, writeModel } from '../helper.ts'

const ROOT = join(import.meta.dirname, '../..')

t.test('a strict program reads, changes and sends back', async (t) => {
  const service = await startApp(t, { models: MODELS })
  const admin = await service.login()
  const { body } = await admin.get('/openapi.json')
  const folder = emptyFolder(t)
  const types = astToString(await openapiTS(body))
  writeFileSync(join(folder, 'api.ts'), types)
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  writeFileSync(
    join(folder, 'client.ts'),
    `import createClient from 'openapi-fetch'
import type { components, paths } from './api.ts'
type Contact = components['schemas']['ContactsContactRow']
const cookie = process.argv[2] as string
const client = createClient<paths>({ baseUrl: '${service.url}', headers: { cookie } })
const path = '/ws/rest/contacts.Contact/{id}'

const company = await client.PUT('/ws/rest/crm.Company', { body: { data: { name: 'Company', kind: 'one' } } })
const made = await client.PUT('/ws/rest/contacts.Contact', {
  body: { data: { firstName: 'Ada', email: null, tags: ['a'], company: company.data?.data[0]?.id ?? null } },
})
if (made.error) throw new Error(made.error.message)
const id: number = made.data.data[0]!.id
const found = await client.GET('/ws/rest/contacts.Contact', { params: { query: { sort: '-id', 'firstName[like]': 'ad', fields: 'firstName', limit: 1 } } })
const name: string | undefined = found.data?.data[0]?.firstName
const read = await client.GET(path, { params: { path: { id }, query: { expand: 'company' } } })
if (read.error) throw new Error(read.error.code)
const contact: Contact = read.data.data[0]!
const always: string | undefined = contact.firstName
const tag: string | undefined = contact.tags?.[0]
const firm = await client.PUT('/ws/rest/crm.Company', { body: { data: { name: 'Partners', kind: 'one', people: [{ firstName: 'Eve' }] } } })
if (firm.error) throw new Error(firm.error.message)
const { version, people, id: firmId } = firm.data.data[0]!
const partner = people!.data[0]!
const grown = await client.POST('/ws/rest/crm.Company/{id}', { params: { path: { id: firmId } }, body: { data: { version,
  people: { create: [{ firstName: 'Bob' }], update: [{ id: partner.id, version: partner.version, firstName: 'Eva' }] } } } })
if (grown.error) throw new Error(grown.error.message)
const back = await client.GET('/ws/rest/crm.Company/{id}', { params: { path: { id: firmId }, query: { expand: 'people' } } })
if (back.error) throw new Error(back.error.message)
const sent = await client.POST('/ws/rest/crm.Company/{id}', { params: { path: { id: firmId } }, body: { data: { version: back.data.data[0]!.version, people: back.data.data[0]!.people! } } })
if (sent.error) throw new Error(sent.error.message)
const staff = grown.data.data[0]!.people!.data.map((one) => one.firstName)
const employer = contact.company
const employerName = typeof employer === 'object' ? employer?.name : undefined
// Everything that was read goes back, with a change.
const changed = await client.POST(path, { params: { path: { id } }, body: { data: { ...contact, firstName: 'Augusta' } } })
if (changed.error) throw new Error(changed.error.message)
// @ts-expect-error a number is no text
await client.POST(path, { params: { path: { id } }, body: { data: { version: 99, firstName: 5 } } })
// @ts-expect-error there is no such field
export type Nothing = Contact['nothing']
console.log(JSON.stringify({ staff, name, always, tag, employerName, after: changed.data.data[0]!.firstName, company: changed.data.data[0]!.company }))
`,
  )
  const tsc = join(ROOT, 'node_modules/typescript-7/bin/tsc')
  const options = '--noEmit --strict --exactOptionalPropertyTypes --skipLibCheck --target esnext --module nodenext'
  const more = ['--allowImportingTsExtensions', '--types', 'node']
  t.strictSame(await runTool([tsc, ...options.split(' '), ...more, 'client.ts'], folder), { code: 0, said: '' })
  const { code, said } = await runTool([join(folder, 'client.ts'), admin.cookie as string])
  t.equal(code, 0, said)
  t.strictSame(JSON.parse(said), {
    staff: ['Eva', 'Bob'],
    name: 'Ada',
    always: 'Ada',
    tag: 'a',
    employerName: 'Company',
    after: 'Augusta',
    company: 1,
  })
})

t.test('linters of others find no error', documentOnly, async (t) => {
  // Only here: it takes seconds to load them.
  const { default: spectral } = await import('@stoplight/spectral-core')
  const { default: rulesets } = await import('@stoplight/spectral-rulesets')
  const { createConfig, lintFromString } = await import('@redocly/openapi-core')
  const service = await startApp(t, { models: MODELS })
  const { text, body } = await (await service.login()).get('/openapi.json')

  const { Spectral, Document } = spectral as unknown as typeof import('@stoplight/spectral-core')
  const judge = new Spectral()
  const { oas } = rulesets as unknown as typeof import('@stoplight/spectral-rulesets')
  judge.setRuleset({ extends: [[oas as never, 'recommended']] } as never)
  const parser = { parse: (given: string) => ({ data: JSON.parse(given), diagnostics: [], ast: undefined }) }
  const found = await judge.run(new Document(text, { ...parser, getLocationForJsonPath: () => undefined } as never))
  t.strictSame(
    [...new Set(found.filter(({ severity }) => severity === 0).map(({ code, path }) => `${code} ${path.join('/')}`))],
    [],
  )
  // Whose service it is, only the operator knows.
  const warnings = new Set(found.map(({ code }) => code))
  t.strictSame([...warnings].sort(), ['info-contact'])

  const config = await createConfig({ extends: ['recommended'] })
  const problems = await lintFromString({ source: JSON.stringify(body), config, absoluteRef: 'openapi.json' })
  const told = (wanted: string) => [
    ...new Set(
      problems.filter(({ severity }) => severity === wanted).map(({ ruleId, message }) => `${ruleId}: ${message}`),
    ),
  ]
  t.strictSame(told('error'), [])
  t.strictSame(told('warn'), [])
})

t.test('names that depend on the model alone, and never clash', documentOnly, async (t) => {
  const plain = { type: 'object', properties: { x: { type: 'string' } } }
  const names = ['a.Item', 'b.Item', 'a.ItemRow', 'a.Order', 'a.OrderNew', 'a.Failure', 'aI.Tem', 'a.B.C', 'aB.C']
  const odd = ['aB.CRow', 'crm.Person', 'deleted.Item', 'aggregate.Item', 'a.ItemHistory', 'a.B_C']
  const models = Object.fromEntries([...names, ...odd].map((name) => [`${name}.json`, plain]))
  const service = await startApp(t, { models })
  const { body } = await (await service.login()).get('/openapi.json')
  const operations = Object.values(body.paths).flatMap((path) =>
    Object.values(path as Record<string, { operationId: string }>).map(({ operationId }) => operationId),
  )
  t.equal(new Set(operations).size, operations.length)
  t.ok(operations.every((name) => /^[a-z]\w+$/.test(name)))
  for (const verb of ['find', 'search', 'read', 'create', 'update', 'delete', 'export', 'import'])
    t.ok(operations.includes(`${verb}AOrder`), verb)
  for (const name of ['findAItem', 'findBItem', 'findCrmPerson', 'finda__OrderNew_', 'login', 'whoAmI', 'addUser'])
    t.ok(operations.includes(name), name)
  t.match(body.components.schemas.DossierFailure.required, ['status', 'code', 'message', 'requestId'])
  t.ok(Object.keys(body.components.schemas).includes('CrmPerson'))
})

t.test('no two models have a name in common', documentOnly, async () => {
  const letters = fc.constantFrom('a', 'b', 'A', 'B', 'Row', 'New', 'dossiers', 'Page', 'History', 'Query')
  const word = fc.array(letters, { minLength: 1, maxLength: 3 }).map((parts) => parts.join(''))
  const words = fc.array(word, { minLength: 1, maxLength: 2 }).map((parts) => parts.join('_'))
  const name = fc
    .tuple(fc.array(words, { minLength: 1, maxLength: 2 }), words)
    .map(([folders, last]) => [...folders, `A${last}`].join('.'))
  const namesOf = (model: string) => Object.values(componentsNamed(model))
  fc.assert(
    fc.property(name, name, (one, other) => {
      const own = new Set(namesOf(one))
      return one === other || namesOf(other).every((each) => !own.has(each) && !/^Dossier(?![a-z0-9])/.test(each))
    }),
    { numRuns: 3000 },
  )
})

t.test('the document is small, has a version, and is not sent twice', documentOnly, async (t) => {
  const service = await startApp(t, { models: MODELS })
  const admin = await service.login()
  const { text, body, headers } = await admin.get('/openapi.json')
  t.equal(headers.get('etag'), `"${body.info.version}"`)
  const known = { 'if-none-match': headers.get('etag') as string }
  t.match(await admin.send('GET', '/openapi.json', undefined, known), { status: 304, text: '' })
  const few = await startApp(t, { models: { 'test.Thing.json': MODELS['test.Thing.json'] } })
  const other = (await (await few.login()).get('/openapi.json')).body
  t.not(other.info.version, body.info.version, 'another document has another version')
  const typical = await startApp(t, { models: Object.fromEntries(TYPICAL) })
  const none = await startApp(t, { models: {} })
  const own = (await (await none.login()).get('/openapi.json')).text.length
  const each = ((await (await typical.login()).get('/openapi.json')).text.length - own) / TYPICAL.length
  t.ok(each <= 41_000, `${Math.round(each)} bytes for a model of ten fields`)
  t.ok(own <= 77_000, `${own} bytes without models`)
  t.ok(text.length < 260_000, `${text.length} bytes`)
})

/** Four models of ten fields that refer to each other. */
const TYPICAL = [1, 2, 3, 4].map((nth) => {
  const fields = ['name', 'street', 'city', 'phone'].map((name) => [name, { type: 'string', maxLength: 100 }])
  const properties = {
    ...Object.fromEntries(fields),
    status: { type: 'string', enum: ['open', 'closed'] },
    due: { type: 'string', format: 'date' },
    amount: { type: 'string', format: 'decimal' },
    count: { type: 'integer' },
    isPaid: { type: 'boolean' },
    next: { type: 'integer', reference: `shop.Model${(nth % 4) + 1}` },
  }
  return [
    `shop.Model${nth}.json`,
    { type: 'object', properties, required: ['name'], list: ['name', 'status'] },
  ] as const
})

t.test(
  'what is described: always there, never null, and examples that keep their own rules',
  documentOnly,
  async (t) => {
    const service = await startApp(t, { models: MODELS, env: { PUBLIC_URL: 'https://records.example' } })
    const { body } = await (await service.login()).get('/openapi.json')
    t.strictSame(body.servers, [{ url: 'https://records.example' }])
    const { schemas } = body.components
    t.strictSame(schemas.ContactsContactRow.required, ['id', 'version'])
    t.strictSame(schemas.ContactsContact.required, Object.keys(schemas.ContactsContact.properties))
    t.strictSame(schemas.ContactsContact.properties.firstName, { type: 'string' })
    t.match(schemas.ContactsContact.properties.tags, { type: ['array', 'null'], items: { type: 'string' } })
    t.match(schemas.ContactsContact.properties.storable, { type: ['boolean', 'null'] })
    t.match(schemas.ContactsContact.properties.properties.properties, { default: { type: 'integer' } })
    t.match(schemas.ContactsContact.properties.company.anyOf, [
      { type: ['integer', 'null'] },
      { $ref: '#/components/schemas/CrmCompanyRow' },
    ])
    t.strictSame(schemas.CrmSecret.properties.one, { type: 'integer', enum: [1] })
    t.strictSame(schemas.CrmSecret.properties.two, { type: 'integer', enum: [1, 2] })
    t.match(schemas.CrmCompany.properties.shade, { enum: ['red', 'blue', null], description: 'How it looks.' })
    t.match(schemas.CrmCompany.properties.deep.properties, {
      rows: { items: { type: 'object', properties: { b: { type: 'integer' } } } },
      any: { type: 'array', items: {} },
    })
    t.match(schemas.CrmCompany.properties.grid.items, { type: 'array', title: 'Row', items: { type: 'integer' } })
    t.match(schemas.CrmSecret.properties.of.anyOf[0], { type: 'integer' }, 'required, and everybody may read it')
    t.match(JSON.stringify(schemas.CrmSecretAnswer), /Stub/, 'who may not read what they made gets its id and version')
    const ajv = new Ajv2020({ strict: false, validateFormats: false })
    ajv.addSchema(body, 'document')
    let examples = 0
    for (const [name, { examples: given = [] }] of Object.entries<{ examples?: unknown[] }>(schemas))
      for (const example of given) {
        examples++
        const validate = ajv.compile({ $ref: `document#/components/schemas/${name}` })
        t.ok(validate(example), `${name}: ${JSON.stringify(example)} ${ajv.errorsText(validate.errors)}`)
      }
    t.ok(examples >= 11, `${examples} examples`)
    t.match(schemas.CrmCompanyNew.examples, [
      { size: 5, part: 0.25, below: -4, name: 'text te', kind: 'one', shade: 'red' },
    ])
    t.notOk('badge' in schemas.CrmCompanyNew.examples[0], 'nothing is made up that breaks its pattern')
    t.notOk('examples' in schemas.CrmSecretNew)
    t.match(schemas.TestThingNew.examples, [{ color: 'red' }])
    t.match(schemas.TestThingRow.properties.place, { properties: { zip: { type: 'string' } }, required: ['city'] })
    t.notOk('required' in schemas.TestThingChange, 'If-Match may name the version')
    t.strictSame(schemas.TestThingNew.required, [], 'values with a default need not be sent')
    t.match(schemas.DossierCode.enum, ['BAD_REQUEST'])
    t.match(body.paths['/callback'].post.responses['200'].headers, { 'Set-Cookie': {} })
    t.match(body.paths['/ws/rest/crm.Company/{id}'].post.responses, {
      409: { $ref: '#/components/responses/CrmCompanyConflict' },
      412: { $ref: '#/components/responses/CrmCompanyPreconditionFailed' },
      default: { $ref: '#/components/responses/DossierOther' },
    })
    t.match(body.components.responses.DossierOther, { description: /405 METHOD_NOT_ALLOWED/, headers: { Allow: {} } })
    const found = body.paths['/ws/rest/contacts.Contact'].get.parameters
    const names = found.map((one: { name?: string; $ref?: string }) => one.name ?? one.$ref?.split('/').at(-1))
    for (const name of ['firstName[like]', 'company[in]', 'company.name', 'DossierFilters'])
      t.ok(names.includes(name), name)
  },
)

t.test('a reference may be sent back as the record that was read', async (t) => {
  const service = await startApp(t, { models: MODELS })
  const admin = await service.login()
  const company = (await admin.put('/ws/rest/crm.Company', { name: 'Company' })).body.data[0]
  const made = await admin.put('/ws/rest/contacts.Contact', { firstName: 'Ada', company })
  t.equal(made.body.data[0].company, 1)
  const { body } = await admin.get('/ws/rest/contacts.Contact/1?expand=company')
  t.equal(body.data[0].company.name, 'Company')
  const again = await admin.post('/ws/rest/contacts.Contact/1', { ...body.data[0], email: 'a@b.c' })
  t.match(again.body.data[0], { company: 1, email: 'a@b.c', version: 1 })
  for (const wrong of [{}, { id: 'x' }, { id: null, name: 'x' }, [1], { __proto__: { id: 1 } }]) {
    const answer = await admin.put('/ws/rest/contacts.Contact', { firstName: 'x', company: wrong })
    t.equal(answer.status, 422, JSON.stringify(wrong))
  }
})

t.test('an example that is none is passed over', documentOnly, async (t) => {
  const model = modelOf('a.B', {
    type: 'object',
    properties: { x: { type: 'string', enum: ['red'], examples: ['green'] } },
    audit: false,
  })
  t.strictSame(model.fields.map(fieldExample), ['red'])
  const sample = (schema: object) => {
    const { fields } = modelOf('a.B', { type: 'object', properties: { x: schema }, audit: false })
    return fieldExample(fields[0] as Field)
  }
  t.strictSame(sample({ type: 'array', examples: [['a', 'b']] }), ['a', 'b'])
  t.strictSame(sample({ type: 'array', examples: ['a'] }), [])
  t.strictSame(sample({ type: 'object', examples: [[1]] }), {})
  t.equal(sample({ type: 'string', examples: [5] }), 'text')
  t.equal(sample({ type: 'string', format: 'date', examples: ['today'] }), '2024-02-29')
  t.equal(sample({ type: 'integer', exclusiveMinimum: 1, exclusiveMaximum: 1.4 }), undefined)
  t.equal(sample({ type: 'integer', minimum: 0.5 }), 1)
  t.equal(sample({ type: 'string', minLength: 2, maxLength: 2, examples: ['😀'] }), 'te')
})

t.test('an app that nobody changes is as it should be', documentOnly, async (t) => {
  const config = configOf(makeFolder(t))
  const storage = await openStorage(config.DATA_DIR)
  const logger = createLogger(config)
  const models = [modelOf('a.Thing', { type: 'object', properties: { text: { type: 'string' } } })]
  const app = await buildApp({ config, storage, models, logger, metrics: new Metrics() })
  t.match((await app.inject('/health')).json().data, [{ models: { current: true } }])
  t.match(await app.reloadModels(), { current: true })
  const document = app.document() as { paths: object; components: { schemas: object } }
  t.match(document.paths, { '/health': {} })
  const own = Object.keys(document.components.schemas).filter((name) => !name.startsWith('AThing'))
  t.strictSame(
    own.filter((name) => !name.startsWith('Dossier')),
    [],
    'names no model may have',
  )
  await app.close()
  await storage.close()
})

t.test('npm run openapi: the same document, without a session', documentOnly, async (t) => {
  const folder = makeFolder(t, MODELS)
  const service = await startApp(t, { folder })
  const served = (await (await service.login()).get('/openapi.json')).body
  const env = { MODELS_DIR: join(folder, 'models'), DATA_DIR: join(folder, 'nowhere'), INIT_CWD: folder }
  const written = await runScript('openapi.ts', [], env)
  t.match(written, { code: 0, err: '' })
  t.strictSame(JSON.parse(written.out), served)
  const run = commandRunner(HELP, openapiCommand, env)
  t.match(await run('api.json'), { code: 0, out: `${join(folder, 'api.json')}\n` })
  t.match(await run('a b'), { code: 2, err: /Name one file, or none/ })
  t.match(await run('--jsn'), { code: 2, err: /Name one file, or none/ })
  writeModel(folder, 'contacts.Contact.json', '{')
  t.match(await run(''), { code: 1, err: /contacts\.Contact\.json: The file is not JSON/ })
})
