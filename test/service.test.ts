import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import t from 'tap'
import { StorageFault } from '../src/storage/storage.ts'
import type { Client } from './client.ts'
import { isPostgres, sqliteOnly } from './engine.ts'
import { CONTACT, logSink, makeFolder, type Running, startApp, writeModel } from './helper.ts'

const CONTACTS = '/ws/rest/contacts.Contact'
const WATCHING = { WATCH_MODELS: 'true' }
const NOTE = { type: 'object', properties: { text: { type: 'string' } } }

/** Waits until something holds; how long that takes is another question. */
async function soon(t: { fail(message: string): void }, what: string, holds: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 60_000; Date.now() < end; await sleep(100)) if (await holds()) return
  t.fail(`not soon enough: ${what}`)
}

/** A pause of each that sends requests all the time: the edits are what is tested, and not how many requests fit in. */
const BETWEEN_MS = 5

const status = async (client: Client, path: string) => (await client.get(path)).status

t.test('files come, change and go while the service runs', async (t) => {
  const { lines, stream } = logSink()
  const service = await startApp(t, { env: { ...WATCHING, LOG_LEVEL: 'info' }, log: stream })
  const client = await service.login()
  await client.put(CONTACTS, { firstName: 'Ada', lastName: '7' })
  const health = async () => (await client.get('/health')).body.data[0]
  t.strictSame(await health(), { live: true, ready: true, models: { current: true } })

  writeModel(service.folder, 'notes.Note.json', NOTE)
  await soon(t, 'a new model', async () => (await status(client, '/ws/rest/notes.Note')) === 200)
  t.equal((await client.put('/ws/rest/notes.Note', { text: 'hello' })).status, 200)

  // As editors do it: write beside it, then rename.
  writeFileSync(
    join(service.folder, 'draft'),
    JSON.stringify({ ...NOTE, properties: { text: { type: 'string' }, pages: { type: 'integer', default: 1 } } }),
  )
  renameSync(join(service.folder, 'draft'), join(service.folder, 'models', 'notes.Note.json'))
  await soon(t, 'a new field', async () => (await client.get('/ws/rest/notes.Note/1')).body.data?.[0].pages === 1)

  const retyped = { ...CONTACT, properties: { ...CONTACT.properties, lastName: { type: 'integer' } } }
  writeModel(service.folder, 'contacts.Contact.json', retyped)
  await soon(t, 'another type', async () => (await client.get(`${CONTACTS}/1`)).body.data?.[0].lastName === 7)
  if (!isPostgres) t.equal(readdirSync(join(service.folder, 'data', 'backups')).length, 1, 'a backup was made first')

  writeModel(service.folder, 'notes.Note.json', '{"type": "obj')
  await soon(t, 'a fault', async () => !(await health()).models.current)
  t.match((await health()).models, { current: false, since: /Z$/, why: [/^notes\.Note\.json: The file is not JSON/] })
  t.strictSame(
    Object.keys((await service.stranger.get('/health')).body.data[0].models),
    ['current', 'since'],
    'a stranger learns no names',
  )
  t.equal(await status(client, '/ws/rest/notes.Note'), 200, 'the running models stay')
  t.ok(lines.some((line) => line.includes('"level":50') && line.includes('notes.Note.json')))
  const { since } = (await health()).models
  writeModel(service.folder, 'notes.Note.json', {
    ...NOTE,
    properties: { ...NOTE.properties, must: { type: 'string' } },
    required: ['must'],
  })
  await soon(t, 'a refusal', async () => /is required, but/.test((await health()).models.why?.[0] ?? ''))
  t.equal((await health()).models.since, since, 'since the first of them')

  rmSync(join(service.folder, 'models', 'notes.Note.json'))
  await soon(t, 'a model gone', async () => (await status(client, '/ws/rest/notes.Note')) === 404)
  await soon(t, 'all is served', async () => (await health()).models.current)
  writeModel(service.folder, 'notes.Note.json', NOTE)
  await soon(t, 'a model back', async () => (await client.get('/ws/rest/notes.Note')).body.total === 1)
})

t.test('by hand', async (t) => {
  const { lines, stream } = logSink()
  const service = await startApp(t, { env: { LOG_LEVEL: 'error' }, log: stream })
  const client = await service.login()

  await t.test('a half-written file is given a moment', async (t) => {
    writeModel(service.folder, 'notes.Half.json', '{"type":')
    const reloaded = service.service.reload()
    await sleep(100)
    writeModel(service.folder, 'notes.Half.json', NOTE)
    await reloaded
    t.equal(await status(client, '/ws/rest/notes.Half'), 200)
    t.strictSame(lines, [])
  })

  await t.test('a model that was away cascades again, and nothing is left of what held deletes up', async (t) => {
    const to = { type: 'integer', reference: 'a.Parent', onDelete: 'cascade' }
    const child = { type: 'object', properties: { to } }
    writeModel(service.folder, 'a.Parent.json', NOTE)
    writeModel(service.folder, 'a.Child.json', child)
    await service.service.reload()
    await client.put('/ws/rest/a.Parent', { text: 'p' })
    await client.put('/ws/rest/a.Child', { to: 1 })
    rmSync(join(service.folder, 'models', 'a.Child.json'))
    await service.service.reload()
    t.match((await client.delete('/ws/rest/a.Parent/1')).body, { code: 'REFERENCE_VIOLATION' })
    writeModel(service.folder, 'a.Child.json', child)
    await service.service.reload()
    t.equal((await client.delete('/ws/rest/a.Parent/1')).status, 200)
    t.equal((await client.get('/ws/rest/a.Child')).body.total, 0)
  })

  // Last: after this, no change of tables is possible.
  await t.test('and not at all', async (t) => {
    writeModel(service.folder, 'notes.Note.json', NOTE)
    await sleep(400)
    t.equal(await status(client, '/ws/rest/notes.Note'), 404, 'WATCH_MODELS=false')
    await service.service.reload()
    t.equal(await status(client, '/ws/rest/notes.Note'), 200)
    await service.service.reload()
    t.equal(await status(client, '/ws/rest/notes.Note'), 200, 'nothing has changed')
    await service.db.schema.dropTable('dossier_migrations').execute()
    await service.db.schema
      .createView('dossier_migrations')
      .as(service.db.selectFrom('dossier_users').selectAll())
      .execute()
    writeModel(service.folder, 'notes.More.json', NOTE)
    await service.service.reload()
    t.match((await client.get('/health')).body.data[0].models, { current: false, why: [/unexpected/] })
    t.equal(await status(client, '/ws/meta/fields/notes.Note'), 200, 'what was served still is')
  })
})

t.test('a folder that disappears', async (t) => {
  const service = await startApp(t, { env: WATCHING })
  const client = await service.login()
  rmSync(join(service.folder, 'models'), { recursive: true })
  await service.service.reload()
  t.match((await client.get('/health')).body.data[0].models.why, [/models folder does not exist/])
  t.equal(await status(client, CONTACTS), 200)
  mkdirSync(join(service.folder, 'models'))
})

t.test('two services on one data folder see the same records', async (t) => {
  const first = await startApp(t)
  const second = await startApp(t, { folder: first.folder })
  const [here, there] = [await first.login(), await second.login()]
  await here.put(CONTACTS, { firstName: 'Ada' })
  t.equal((await there.get(CONTACTS)).body.total, 1)
  const renamed = {
    ...CONTACT,
    properties: {
      ...CONTACT.properties,
      surname: { type: 'string', renamedFrom: 'lastName' },
      fullName: { type: 'string', computed: '{firstName} {surname}' },
    },
  }
  const { lastName, ...properties } = renamed.properties
  writeModel(first.folder, 'contacts.Contact.json', { ...renamed, properties })
  await first.service.reload()
  const behind = await there.get(`${CONTACTS}/1`)
  // On PostgreSQL the request waits until the second one has followed.
  t.equal(behind.status, isPostgres ? 200 : 503, 'behind for a moment, and says so')
  t.equal(behind.headers.get('retry-after'), isPostgres ? null : '1')
  await second.service.reload()
  t.match((await there.get(`${CONTACTS}/1`)).body.data, [{ firstName: 'Ada', surname: null }])
})

t.test('a hundred edits under constant load: not one failed request, not one lost value', async (t) => {
  const item = (properties: object) => ({ type: 'object', properties: { name: { type: 'string' }, ...properties } })
  const models = { 'load.Steady.json': item({}), 'load.Moving.json': item({ size: { type: 'integer' } }) }
  const running: Running = await startApp(t, { models, env: WATCHING })
  const { folder } = running
  const client = await running.login()
  const failures: string[] = []
  const names = new Map<number, string>()
  let stop = false
  const check = (answer: { status: number; text: string }) => {
    if (answer.status !== 200) failures.push(answer.text)
  }
  const steady = async (worker: number) => {
    for (let i = 0; !stop || names.size <= 20; i++) {
      const created = await client.put('/ws/rest/load.Steady', { name: `${worker}.${i}` })
      check(created)
      const [{ id }] = created.body.data
      check(await client.post(`/ws/rest/load.Steady/${id}`, { version: 0, name: `${worker}.${i}!` }))
      check(await client.get(`/ws/rest/load.Steady/${id}`))
      check(await client.get('/ws/rest/load.Steady?limit=2'))
      names.set(id, `${worker}.${i}!`)
      await sleep(BETWEEN_MS)
    }
  }
  const moving = async () => {
    while (!stop) {
      const answer = await client.put('/ws/rest/load.Moving', { name: 'kept' })
      // The model itself comes and goes; but no request may break. Where tables are changed in place, who writes to one
      // waits for that, and is told so if it takes too long.
      if (![200, 404, ...(isPostgres ? [503] : [])].includes(answer.status)) failures.push(answer.text)
      await sleep(BETWEEN_MS)
    }
  }
  const workers = [...[1, 2, 3].map(steady), moving()]
  const file = join(folder, 'models', 'load.Moving.json')
  const edits: (() => void)[] = [
    () => writeFileSync(file, '{ "type": '),
    () => writeFileSync(file, JSON.stringify(item({ size: { type: 'integer' } }))),
    () => writeFileSync(file, JSON.stringify(item({ size: { type: 'string' } }))),
    () => writeFileSync(file, JSON.stringify(item({ length: { type: 'integer', renamedFrom: 'size' } }))),
    () =>
      writeFileSync(
        file,
        JSON.stringify(
          item({
            size: { type: 'integer', renamedFrom: 'length' },
            label: { type: 'string', computed: '{name} {size}' },
          }),
        ),
      ),
    () => writeFileSync(file, JSON.stringify(item({ nmae: { type: 'strong' } }))),
    () => rmSync(file, { force: true }),
    () =>
      writeFileSync(file, JSON.stringify(item({ size: { type: 'integer', index: true }, must: { type: 'string' } }))),
  ]
  for (const edit of fc.sample(fc.constantFrom(...edits), { numRuns: 100, seed: 21 })) {
    edit()
    await sleep(Math.random() < 0.2 ? 260 : 15)
  }
  stop = true
  await Promise.all(workers)
  t.strictSame(failures.slice(0, 3), [])
  t.ok(names.size > 20)
  const stored = new Map(
    (await running.db.selectFrom('load__Steady').select(['id', 'name']).execute()).map(({ id, name }) => [id, name]),
  )
  t.strictSame(
    [...names].filter(([id, name]) => stored.get(id) !== name),
    [],
  )
  if (!isPostgres) t.ok(existsSync(join(folder, 'data', 'dossier.db')))
})

t.test(
  'a process whose tables another one has changed says so, and brings them back by hand',
  sqliteOnly,
  async (t) => {
    const first = await startApp(t, { models: { 'notes.Note.json': NOTE } })
    const here = await first.login()
    await here.put('/ws/rest/notes.Note', { text: 'kept' })
    const elsewhere = makeFolder(t, {
      'notes.Note.json': { ...NOTE, properties: { text: { type: 'string' }, more: { type: 'string' } } },
    })
    const second = await startApp(t, {
      folder: elsewhere,
      env: { DATA_DIR: first.config.DATA_DIR },
    })
    await second.close()
    const refused = await here.put('/ws/rest/notes.Note', { text: 'refused' })
    t.equal(refused.status, 503)
    t.equal((await here.get('/ws/rest/notes.Note/1')).status, 503)
    t.equal((await here.get('/ws/rest/notes.Note?sort=text')).status, 503)
    t.match((await here.get('/health')).body.data[0].models, {
      current: false,
      why: [/Another process has changed .*SIGHUP/],
    })
    await first.service.reload()
    t.equal((await here.put('/ws/rest/notes.Note', { text: 'again' })).status, 200)
    t.match((await here.get('/ws/rest/notes.Note')).body.total, 2)
    t.match((await here.get('/health')).body.data[0].models, { current: true })
  },
)

t.test('what is edited while the service starts is followed', async (t) => {
  const folder = makeFolder(t, { 'notes.Note.json': NOTE })
  const starting = startApp(t, { folder, env: WATCHING })
  // Before the files are read, after that, and before anything is watched.
  for (const name of ['notes.One.json', 'notes.Two.json', 'notes.Three.json', 'notes.Four.json']) {
    await sleep(60)
    writeModel(folder, name, NOTE)
  }
  const service = await starting
  const client = await service.login()
  await soon(t, 'all of them', async () => (await client.get('/ws/meta/models')).body.total === 5)
})

t.test('a refused change is made when the data is mended, but only of files that are still the same', async (t) => {
  const { lines, stream } = logSink()
  const service = await startApp(t, { env: { LOG_LEVEL: 'info' }, log: stream })
  const client = await service.login()
  await client.put(CONTACTS, { firstName: 'Ada', lastName: 'x' })
  const withType = (type: string) => ({ ...CONTACT, properties: { ...CONTACT.properties, lastName: { type } } })
  writeModel(service.folder, 'contacts.Contact.json', withType('integer'))
  writeModel(service.folder, 'models.jsonc', '')
  await service.service.reload()
  await service.service.reload()
  t.match((await client.get('/health')).body.data[0].models, { current: false, why: [/without loss in the records 1/] })
  const told = (what: string) => lines.filter((line) => line.includes(what)).length
  t.equal(told('was not reloaded'), 1, 'told once')
  t.equal(told('models.jsonc is passed over'), 1)
  await client.post(`${CONTACTS}/1`, { version: 0, lastName: '7' })
  await soon(t, 'another type', async () => (await client.get(`${CONTACTS}/1`)).body.data?.[0].lastName === 7)
  await soon(t, 'all is current', async () => (await client.get('/health')).body.data[0].models.current)

  if (!isPostgres)
    t.equal(
      readdirSync(join(service.folder, 'data', 'backups')).length,
      1,
      'a copy is made of what is done, not of each try',
    )

  // Without watching, only a SIGHUP makes other files count; but these are not forgotten while others are there.
  await client.post(`${CONTACTS}/1`, { version: 1, lastName: 8 })
  writeModel(service.folder, 'contacts.Contact.json', withType('boolean'))
  await service.service.reload()
  writeModel(service.folder, 'contacts.Contact.json', '{')
  await client.post(`${CONTACTS}/1`, { version: 2, lastName: 1 })
  const looked = t.capture(service.service, 'reload', service.service.reload)
  await sleep(8000)
  t.strictSame(looked(), [])
  t.equal((await client.get(`${CONTACTS}/1`)).body.data[0].lastName, 1)
  writeModel(service.folder, 'contacts.Contact.json', withType('boolean'))
  await soon(t, 'a later look', async () => (await client.get(`${CONTACTS}/1`)).body.data?.[0].lastName === true)
})

t.test('a database that is away while a refused change waits ends nothing: it is tried again', async (t) => {
  const { lines, stream } = logSink()
  const app = await startApp(t, { log: stream, env: { LOG_LEVEL: 'warn' } })
  const admin = await app.login()
  await admin.put(CONTACTS, { firstName: 'Ada', lastName: 'x' })
  const { lastName: _, ...properties } = CONTACT.properties
  writeModel(app.folder, 'contacts.Contact.json', {
    ...CONTACT,
    properties: { ...properties, lastName: { type: 'integer' } },
  })
  await app.service.reload()
  const why = async () => (await admin.get('/health')).body.data[0].models.why?.join()
  t.match(await why(), /cannot become integer/)
  const { storage } = app.service
  const away = new StorageFault('busy', 'The database cannot be used now.')
  app.service.storage = new Proxy(storage, {
    get: (target, name) => {
      if (name === 'db') throw away
      const own = target[name as keyof typeof target]
      return typeof own === 'function' ? own.bind(target) : own
    },
  })
  await soon(t, 'it is tried, in vain', async () => (await why()) === 'The database cannot be used now.')
  app.service.storage = storage
  await admin.post(`${CONTACTS}/1`, { version: 0, lastName: '7' })
  await soon(t, 'it is tried again', async () => (await admin.get(`${CONTACTS}/1`)).body.data?.[0].lastName === 7)
  t.notMatch(lines.join(''), /unexpected/)
})
