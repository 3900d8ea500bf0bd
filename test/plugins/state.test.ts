import { rmSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Config } from '../../src/config.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { backUpNow } from '../../src/upkeep/backups.ts'
import { isPostgres } from '../engine.ts'
import { CONTACT, startApp, writeModel } from '../helper.ts'

const MODELS = {
  'contacts.Contact.json': CONTACT,
  'a.Other.json': { type: 'object', properties: { x: { type: 'string' } } },
}

t.test('what the folder would do, and which copies there are', async (t) => {
  const app = await startApp(t, { models: MODELS })
  const admin = await app.login()
  await admin.put('/ws/users', { username: 'bob', roles: [] })
  const bob = await app.login('bob')
  for (const path of ['/ws/state/models', '/ws/state/backups']) {
    t.equal((await bob.get(path)).body.code, 'FORBIDDEN')
    t.equal((await app.stranger.get(path)).status, 401)
  }
  const folder = async () => (await admin.get('/ws/state/models')).body.data[0]
  t.match(await folder(), { current: true, faults: [], unserved: [], passedOver: [] })
  t.match((await folder()).models, [
    { model: 'a.Other', steps: [] },
    { model: 'contacts.Contact', steps: [] },
  ])

  await admin.put('/ws/rest/contacts.Contact', { firstName: 'Ada', lastName: 'x' })
  const properties = { ...CONTACT.properties, lastName: { type: 'integer' }, zip: { type: 'string' } }
  writeModel(app.folder, 'contacts.Contact.json', { ...CONTACT, properties })
  writeModel(app.folder, 'notes.yaml', 'not a model')
  rmSync(join(app.folder, 'models', 'a.Other.json'))
  const told = await folder()
  t.match(told, { current: true, passedOver: ['notes.yaml'], unserved: [{ model: 'a.Other', records: 0 }] })
  t.match(told.models, [
    {
      model: 'contacts.Contact',
      refusals: [/"lastName" cannot become integer without loss in the records 1\./],
      access: { read: 'everybody logged in' },
    },
  ])
  await app.service.reload()
  t.match(await folder(), { current: false })
  writeModel(app.folder, 'contacts.Contact.json', '{')
  t.match(await folder(), { current: false, models: [], faults: [/contacts\.Contact\.json/] })

  t.strictSame((await admin.get('/ws/state/backups')).body.data, [])
  t.equal((await bob.send('POST', '/ws/state/backups')).body.code, 'FORBIDDEN')
  // Elsewhere they are not the service's.
  if (isPostgres) {
    t.match(await admin.send('POST', '/ws/state/backups'), { status: 400, body: { message: /pg_dump/ } })
    return
  }
  const both = await Promise.all([1, 2].map(() => admin.send('POST', '/ws/state/backups')))
  t.strictSame(both.map(({ status }) => status).sort(), [200, 503], 'one at a time')
  const [made] = (await admin.get('/ws/state/backups')).body.data
  t.match(made, { name: /^on-request-/, bytes: Number })
  rmSync(join(app.config.DATA_DIR, 'backups', made.name))
  await app.storage.backup?.(join(app.config.DATA_DIR, 'backups', 'one.db'))
  await app.storage.backup?.(join(app.config.DATA_DIR, 'backups', 'two.db'))
  const { data } = (await admin.get('/ws/state/backups')).body
  t.match(data, [{ name: 'two.db', bytes: Number, at: /^2\d{3}-/ }, { name: 'one.db' }])
  t.ok(data[0].bytes > 10_000)
})

t.test('a database that makes no copies of itself', async (t) => {
  await t.rejects(backUpNow({} as Storage, {} as Config), { code: 'BAD_REQUEST', message: /pg_dump/ })
})

t.test('a folder that is not there', async (t) => {
  const app = await startApp(t)
  const admin = await app.login()
  rmSync(join(app.folder, 'models'), { recursive: true })
  t.equal((await admin.get('/ws/state/models')).status, 200)
})
