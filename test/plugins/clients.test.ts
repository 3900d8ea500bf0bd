import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import openapiTS, { astToString } from 'openapi-typescript'
import pino from 'pino'
import t, { type Test } from 'tap'
import { login, PASSWORD } from '../client.ts'
import { MODELS } from '../clients/models.ts'
import { runTool } from '../commands.ts'
import { documentOnly } from '../engine.ts'
import { emptyFolder, startApp } from '../helper.ts'

const ROOT = join(import.meta.dirname, '../..')
const PROGRAMS = ['openapi-fetch', 'hey-api', 'orval']

/** A folder in which the programs of `test/clients` compile, with the clients that three generators make. */
async function generate(t: Test, url: string, document: object): Promise<string> {
  const folder = emptyFolder(t)
  const file = join(folder, 'openapi.json')
  writeFileSync(file, JSON.stringify(document))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  writeFileSync(join(folder, 'api.ts'), astToString(await openapiTS(document as never)))
  // Only here: it takes seconds to load them.
  const { createClient } = await import('@hey-api/openapi-ts')
  await createClient({
    input: file,
    output: { path: join(folder, 'hey-api'), importFileExtension: '.ts' },
    logs: { level: 'silent' },
  })
  const { generate: orval } = await import('orval')
  mkdirSync(join(folder, 'orval'))
  await orval({
    input: { target: file },
    output: { target: join(folder, 'orval/api.ts'), client: 'fetch', baseUrl: url },
  })
  for (const name of PROGRAMS) {
    const program = readFileSync(join(ROOT, 'test/clients', `${name}.ts`), 'utf8')
    // The first line switches the check off for the project, in which the generated files are missing.
    writeFileSync(join(folder, `${name}.ts`), program.slice(program.indexOf('\n') + 1))
  }
  return folder
}

t.test('strict programs with clients of three generators, without a cast', documentOnly, async (t) => {
  const service = await startApp(t, { models: MODELS })
  const { body } = await (await service.login()).get('/openapi.json')
  const folder = await generate(t, service.url, body)
  const tsc = join(ROOT, 'node_modules/typescript-7/bin/tsc')
  const options = '--noEmit --strict --skipLibCheck --target esnext --module nodenext --allowImportingTsExtensions'
  const files = PROGRAMS.map((name) => `${name}.ts`)
  t.strictSame(await runTool([tsc, ...options.split(' '), '--types', 'node', ...files], folder), { code: 0, said: '' })
  for (const name of PROGRAMS) {
    const { code, said } = await runTool([join(folder, `${name}.ts`), service.url, PASSWORD], folder)
    t.equal(code, 0, said)
    const shown = JSON.parse(said.slice(said.indexOf('{')))
    t.match(shown, { shade: 'red', part: ['id', 'name', 'people', 'place', 'version'], name: 'Changed', size: 8 }, name)
    t.strictSame(shown.operations, ['create', 'update', 'update', 'update'], name)
    t.ok(shown.found > 0 && shown.searched > 0, name)
  }
})

t.test('a validating proxy lets everything pass', documentOnly, async (t) => {
  const service = await startApp(t, { models: MODELS })
  const { body } = await (await service.login()).get('/openapi.json')
  const require = createRequire(import.meta.url)
  const { getHttpOperationsFromSpec } = require('@stoplight/prism-http')
  const { createServer } = require('@stoplight/prism-http-server')
  const proxy = createServer(await getHttpOperationsFromSpec(body), {
    components: { logger: Object.assign(pino({ level: 'silent' }), { success: () => {} }) },
    config: {
      isProxy: true,
      upstream: new URL(service.url),
      checkSecurity: false,
      validateRequest: true,
      validateResponse: true,
      errors: true,
      mock: { dynamic: false },
      upstreamProxy: undefined,
    },
    cors: false,
  })
  const url = await proxy.listen(0, '127.0.0.1')
  t.teardown(() => proxy.close())
  const client = await login(url)
  const path = '/ws/rest/crm.Company'
  const made = await client.put(path, {
    name: 'Company',
    shade: 'red',
    place: { city: 'Oslo' },
    people: [{ firstName: 'Eve' }],
  })
  t.match(made, { status: 200, body: { data: [{ id: 1, version: 0 }] } }, made.text)
  const expected: [string, string, unknown, number][] = [
    ['GET', `${path}?name[like]=comp&size[null]=true&sort=-id&limit=1`, undefined, 200],
    ['GET', `${path}/1?fields=name&expand=people`, undefined, 200],
    ['GET', `${path}/1?version=0`, undefined, 200],
    ['POST', `${path}/1`, { data: { version: 0, size: 6, deep: { rows: [{ b: 1 }] } } }, 200],
    ['POST', `${path}/1`, { data: { version: 0, size: 7 } }, 409],
    ['POST', `${path}/1`, { data: { version: 0, size: 7 }, merge: true }, 409],
    [
      'POST',
      `${path}/search`,
      { data: { criteria: [{ fieldName: 'size', operator: 'between', value: 5, value2: 9 }] } },
      200,
    ],
    ['GET', `${path}/1/history`, undefined, 200],
    ['GET', `${path}/aggregate?group=shade&values=count`, undefined, 200],
    ['POST', `${path}/aggregate`, { groupBy: ['shade'], values: { n: 'count' }, data: { criteria: [] } }, 200],
    [
      'POST',
      '/ws/batch',
      {
        data: [
          { create: 'crm.Company', data: { name: 'Another' }, as: 'x' },
          { create: 'contacts.Contact', data: { firstName: 'A', company: { $ref: 'x' } } },
          { delete: 'contacts.Contact', id: 1 },
        ],
      },
      200,
    ],
    ['GET', '/ws/rest/contacts.Contact/deleted', undefined, 200],
    ['POST', '/ws/rest/contacts.Contact/1/restore', { data: {} }, 200],
    ['DELETE', `${path}/1?preview=true`, undefined, 200],
    ['GET', `${path}/99`, undefined, 404],
    ['GET', '/ws/changes?limit=5', undefined, 200],
    ['GET', '/ws/search?q=comp', undefined, 200],
    ['GET', '/ws/me', undefined, 200],
    ['GET', '/ws/users', undefined, 200],
    ['GET', '/ws/meta/models', undefined, 200],
    ['GET', '/ws/meta/fields/crm.Company', undefined, 200],
    ['GET', '/ws/state/models', undefined, 200],
    ['GET', '/health', undefined, 200],
    ['GET', '/openapi.json', undefined, 200],
  ]
  for (const [method, address, sent, status] of expected) {
    const answer = await client.send(method, address, sent)
    t.equal(answer.status, status, `${method} ${address}: ${answer.text.slice(0, 300)}`)
    t.notMatch(answer.headers.get('content-type'), /problem/, 'no violation')
  }
})
