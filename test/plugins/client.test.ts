import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { clientCommand, HELP } from '../../src/cli/client.ts'
import { newKey } from '../../src/client/connection.ts'
import { Dossier } from '../../src/client/dossier.ts'
import { Conflict, DossierError } from '../../src/client/errors.ts'
import type { DossierEvent, DossierModel, Stored } from '../../src/client/types.ts'
import { toType } from '../../src/openapi/typescript.ts'
import { PASSWORD } from '../client.ts'
import { MODELS } from '../clients/models.ts'
import { commandRunner, runScript, runTool } from '../commands.ts'
import { documentOnly } from '../engine.ts'
import { emptyFolder, makeFolder, startApp } from '../helper.ts'

const ROOT = join(import.meta.dirname, '../..')

const CHIEF = ['chief']
const HIDDEN = {
  type: 'object',
  properties: { x: { type: 'string' } },
  access: { read: CHIEF, create: CHIEF, update: CHIEF, delete: CHIEF },
}

interface Contact extends Stored {
  firstName: string
  lastName: string | null
}
interface Types extends DossierModel {
  row: Contact
  record: Contact
}
type All = { 'contacts.Contact': Types }

t.test('one file, for the models that a user may use', documentOnly, async (t) => {
  const service = await startApp(t, { models: { ...MODELS, 'crm.Hidden.json': HIDDEN } })
  const admin = await service.login()
  const file = async (path: string, cookie = admin.cookie as string) =>
    (await fetch(service.url + path, { headers: { cookie } })).text()
  const folder = emptyFolder(t)
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(folder, 'client.ts'), await file('/client.ts'))
  const program = readFileSync(join(ROOT, 'test/clients/own.ts'), 'utf8')
  writeFileSync(join(folder, 'own.ts'), program.slice(program.indexOf('\n') + 1))
  const tsc = join(ROOT, 'node_modules/typescript-7/bin/tsc')
  const options = '--noEmit --strict --exactOptionalPropertyTypes --noUnusedLocals --skipLibCheck --target es2024'
  const more = '--module nodenext --allowImportingTsExtensions --lib es2024,dom,dom.asynciterable --types node'
  const words = [tsc, ...options.split(' '), ...more.split(' '), 'own.ts']
  t.strictSame(await runTool(words, folder), { code: 0, said: '' })
  const { code, said } = await runTool([join(folder, 'own.ts'), service.url, PASSWORD], folder)
  t.equal(code, 0, said)
  t.match(JSON.parse(said), {
    shade: 'red',
    names: ['Company'],
    found: 1,
    read: ['id', 'name', 'people', 'place', 'version'],
    name: 'Changed',
    conflict: '1 name',
    size: 8,
    code: 'VALIDATION_FAILED name',
    ada: 'Ada',
  })
  writeFileSync(join(folder, 'client.js'), await file('/client.js'))
  t.equal(await file('/client.js'), readFileSync(join(folder, 'client.js'), 'utf8'))
  const use = `import { connect } from './client.js'
const dossier = connect('${service.url}/')
console.log(JSON.stringify(await dossier.login('admin', '${PASSWORD}')))`
  writeFileSync(join(folder, 'use.js'), use)
  t.match(await runTool([join(folder, 'use.js')], folder), { code: 0, said: /"admin"/ })
  t.equal((await service.stranger.get('/client.ts')).status, 401)
  await admin.put('/ws/users', { username: 'bob', roles: [], password: PASSWORD })
  const bob = await service.login('bob')
  t.notMatch(await file('/client.ts', bob.cookie), /CrmHidden/, 'nobody learns of other models')
})

t.test('npm run client', documentOnly, async (t) => {
  const folder = makeFolder(t)
  const env = { MODELS_DIR: join(folder, 'models'), DATA_DIR: join(folder, 'nowhere'), INIT_CWD: folder }
  const run = commandRunner(HELP, clientCommand, env)
  const shown = await run('')
  t.match(shown, { code: 0, out: /export interface Models/ })
  t.match(await run('api.ts'), { code: 0, out: /api\.ts/ })
  t.equal(readFileSync(join(folder, 'api.ts'), 'utf8'), shown.out)
  t.match(await run('api.js'), { code: 0 })
  t.notMatch(readFileSync(join(folder, 'api.js'), 'utf8'), /interface/)
  t.match(await run('a b'), { code: 2 })
  t.match(await run('--help'), { out: /Usage/ })
  t.match(await run('-x'), { code: 2 })
  t.match(await runScript('client.ts', [], env), { code: 0, out: /export interface Models/ })
})

t.test('types', documentOnly, async (t) => {
  t.equal(toType({}), 'unknown')
  t.equal(toType({ type: 'array' }), 'Array<unknown>')
  t.equal(toType({ const: 5 }), '5')
  t.equal(toType({ type: 'object', additionalProperties: { type: 'string' } }), 'Record<string, string>')
  t.equal(toType({ type: 'object' }), 'Record<string, unknown>')
  t.equal(toType({ allOf: [{ 'x-component': 'A' }, { type: 'boolean' }] }), '(A) & (boolean)')
})

t.test('with a real service', async (t) => {
  const service = await startApp(t)
  const dossier = new Dossier<All>(service.url)
  t.match(await dossier.login('admin', PASSWORD), { username: 'admin' })
  const contacts = dossier.model('contacts.Contact')
  const ada = await contacts.create({ firstName: 'Ada', lastName: 'King' })
  const bob = await contacts.create({ firstName: 'Bob' })

  await t.test('find, read, change, conflict', async (t) => {
    t.match(await contacts.find(), { total: 2 })
    t.match(await contacts.find({ 'firstName[in]': ['Ada', 'x,y', 'z\\,'] }), { total: 1 })
    const all: number[] = []
    for await (const { id } of contacts.all({ limit: 1, sort: '-id', nothing: undefined } as object)) all.push(id)
    t.strictSame(all, [bob.id, ada.id])
    t.match(await contacts.search({ criteria: [] }), { total: 2 })
    t.match(await contacts.get(ada.id, { fields: ['firstName'] }), { firstName: 'Ada' })
    const changed = await contacts.update(ada, { lastName: 'Lovelace' })
    t.equal(changed.version, 1)
    const late = contacts.update(ada, { lastName: 'x' })
    await t.rejects(late, { name: 'Conflict', http: 409, clashes: ['lastName'], current: { lastName: 'Lovelace' } })
    t.ok((await late.catch((error) => error)) instanceof Conflict)
    t.match(await contacts.merge(ada, { firstName: 'Augusta' }), { firstName: 'Augusta', lastName: 'Lovelace' })
    await t.rejects(contacts.create({ firstName: 5 }), { code: 'VALIDATION_FAILED', errors: { firstName: /string/ } })
    t.match(await contacts.history(ada), { total: 3 })
    t.match(await contacts.history(ada.id, { limit: 1 }), { data: [{ version: 2 }] })
    await t.rejects(contacts.remove(ada), Conflict)
    await contacts.remove(ada.id)
    t.match(await contacts.restore(ada.id), { id: ada.id, firstName: 'Augusta' })
    const again = await contacts.get(ada.id)
    t.match(await contacts.restore(again, 0), { firstName: 'Ada' })
  })

  await t.test('batch', async (t) => {
    const batch = dossier.batch()
    const eve = batch.create('contacts.Contact', { firstName: 'Eve' })
    const last = batch.update('contacts.Contact', bob, { lastName: 'x' })
    t.equal(last, batch)
    const { results, created } = await batch.send()
    t.equal(results.length, 2)
    t.equal(created(eve).firstName, 'Eve')
    const now = await contacts.get(bob.id)
    t.strictSame((await dossier.batch().remove('contacts.Contact', now).send()).results, [bob.id])
    const wrong = dossier.batch()
    wrong.create('contacts.Contact', {})
    t.match(await wrong.send().catch((error) => error), { at: 0 })
  })

  await t.test('live', async (t) => {
    const early = await contacts.create({ firstName: 'Live' })
    const events: DossierEvent<Contact>[] = []
    const waiting: (() => void)[] = []
    const until = async (count: number) => {
      while (events.length < count) await new Promise<void>((resolve) => waiting.push(resolve))
      return events.at(-1) as DossierEvent<Contact>
    }
    const live = contacts.live({ firstName: 'Live' }, (event) => {
      events.push(event)
      for (const done of waiting.splice(0)) done()
    })
    t.match(await until(1), { type: 'load', records: [{ id: early.id }] })
    await contacts.create({ firstName: 'Other' })
    const one = await contacts.create({ firstName: 'Live' })
    t.match(await until(2), { type: 'change', id: one.id, record: { fullName: 'Live' } })
    const two = await contacts.update(one, { lastName: 'x' })
    t.match(await until(3), { type: 'change', id: one.id, record: { version: 1 } })
    await contacts.update(two, { firstName: 'Gone' })
    t.strictSame(await until(4), { type: 'leave', id: one.id })
    live.stop()
    await live.ended
    await dossier.logout()
    await t.rejects(contacts.find(), { code: 'LOGIN_REQUIRED' })
    await t.rejects(contacts.live({}, () => {}).ended, { code: 'LOGIN_REQUIRED' })
  })
})

/** A server that answers as the test wants. */
async function serve(t: Test, listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  t.teardown(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

t.test('a request is sent until it is answered', documentOnly, async (t) => {
  const keys: unknown[] = []
  let asked = 0
  const url = await serve(t, (request, response) => {
    keys.push(request.headers['idempotency-key'])
    asked++
    if (asked === 1) return request.socket.destroy()
    if (asked === 2) return response.writeHead(503, { 'retry-after': '0' }).end('{}')
    if (asked === 3) return response.writeHead(409).end('{"code":"KEY_IN_USE"}')
    response.end('{"status":0,"data":[{"id":1,"version":0}]}')
  })
  const contacts = new Dossier<All>(url, { token: 'dos_x' }).model('contacts.Contact')
  t.match(await contacts.create({}), { id: 1 })
  t.equal(asked, 4)
  t.equal(new Set(keys).size, 1, 'always with the same key')
  asked = 1
  const once = new Dossier<All>(url, { retries: 0 }).model('contacts.Contact')
  await t.rejects(once.create({}), { http: 503, code: 'UNKNOWN', message: 'The service answered 503.' })
  asked = 0
  await t.rejects(once.find(), TypeError)
  const own = new Dossier<All>(url, { fetch: async () => new Response('{"data":[]}') })
  t.strictSame(await own.request('GET', '/'), { data: [] })
  asked = 0
  const controller = new AbortController()
  const given = new Dossier<All>(url, {
    fetch: async () => {
      controller.abort()
      throw new TypeError('lost')
    },
  })
  await t.rejects(
    given.request('GET', '/', undefined, { signal: controller.signal }),
    TypeError,
    'who has left waits no more',
  )
  let answers = 0
  const proxied = new Dossier<All>(url, {
    fetch: async () => {
      answers++
      return new Response('<h1>Not here</h1>', { status: 404 })
    },
  })
  await t.rejects(proxied.request('GET', '/'), { http: 404, message: /not in its own words/ })
  const shut = new Dossier<All>(url, {
    fetch: async () => {
      answers++
      return new Response('{"code":"TOO_MANY_ATTEMPTS"}', { status: 429, headers: { 'retry-after': '900' } })
    },
  })
  await t.rejects(shut.login('a', 'b'), { code: 'TOO_MANY_ATTEMPTS', retryAfter: 900 })
  t.equal(answers, 2, 'neither is sent again')
  t.ok(new Dossier<All>(), 'in a browser, the address of the page')
})

t.test('without HTTPS a browser has no randomUUID', async (t) => {
  t.intercept(crypto, 'randomUUID', { value: undefined })
  t.match(newKey(), /^[0-9a-z]+(-[0-9a-z]+){3}$/)
  t.not(newKey(), newKey())
})

t.test('a stream that breaks, is busy, or has gone too far', documentOnly, async (t) => {
  let streams = 0
  let position = 7
  const url = await serve(t, (request, response) => {
    const { url: path = '' } = request
    if (path.startsWith('/ws/changes?')) return response.end(JSON.stringify({ status: 0, next: position++, data: [] }))
    if (path.startsWith('/ws/rest')) {
      const isOne = path.includes('id=1')
      return response.end(JSON.stringify({ status: 0, total: 1, data: isOne ? [{ id: 1, version: 3 }] : [] }))
    }
    streams++
    if (streams === 1) return response.writeHead(503).end('{}')
    if (streams === 2) return request.socket.destroy()
    if (streams === 3) return response.writeHead(410).end('{"code":"CHANGES_GONE"}')
    response.write('retry: 1\nid: 8\n\nevent: models\ndata: {}\n\nid: 9\neve')
    response.end('nt: update\ndata: {"id":1}\n\n')
  })
  const events: DossierEvent<Contact>[] = []
  const contacts = new Dossier<All>(url).model('contacts.Contact')
  const live = contacts.live({}, (event) => {
    events.push(event)
    if (events.length === 4) live.stop()
  })
  await live.ended
  const change = { type: 'change', id: 1, record: { version: 3 } }
  t.match(events, [{ type: 'load' }, { type: 'load' }, change, change], 'on and on')
  t.equal(position, 9, 'read anew, because the position was too old')
})

t.test('a stream is stopped while it waits', documentOnly, async (t) => {
  const own = async (path: unknown) => {
    if (!String(path).includes('stream'))
      return new Response(String(path).includes('rest') ? '{"data":[]}' : '{"next":1}')
    const busy = new Response('{}', { status: 503 })
    // The client goes on to its pause before the next turn of the event loop.
    return Object.assign(busy, {
      text: async () => {
        setImmediate(() => live.stop())
        return '{}'
      },
    })
  }
  const contacts = new Dossier<All>('', { fetch: own }).model('contacts.Contact')
  const live = contacts.live({}, () => {})
  t.equal(await live.ended, undefined)
})

t.test('a stream that is refused', documentOnly, async (t) => {
  const url = await serve(t, ({ url: path = '' }, response) => {
    if (path.startsWith('/ws/changes/stream')) return response.writeHead(403).end('{"code":"FORBIDDEN"}')
    response.end(path.startsWith('/ws/rest') ? '{"total":0,"data":[]}' : '{"next":1,"data":[]}')
  })
  const { ended } = new Dossier<All>(url).model('contacts.Contact').live({}, () => {})
  await t.rejects(ended, { code: 'FORBIDDEN', http: 403 })
})

t.test('what an error says', documentOnly, async (t) => {
  const error = new DossierError(400, {})
  t.match(error, { code: 'UNKNOWN', errors: {}, at: undefined })
  t.match(new Conflict(409, { code: 'VERSION_CONFLICT' }), { fields: {}, clashes: [] })
})
