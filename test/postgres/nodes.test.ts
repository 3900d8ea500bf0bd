import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import t from 'tap'
import { hasServer } from './run-on-postgres.ts'

const isThere = hasServer()
process.env.TEST_ENGINE = 'postgres'
const { CONTACT, makeFolder, startApp, writeModel } = await import('../helper.ts')

const CONTACTS = '/ws/rest/contacts.Contact'
const withField = (name: string) => ({ ...CONTACT, properties: { ...CONTACT.properties, [name]: { type: 'string' } } })

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await sleep(50)
}

if (isThere)
  t.test('two nodes on one database', async (t) => {
    const one = await startApp(t)
    const { DATABASE_URL = '' } = one.config
    const two = await startApp(t, { folder: makeFolder(t), env: { DATABASE_URL } })
    const first = await one.login()
    const second = Object.assign(await two.login(), { cookie: first.cookie })
    t.equal((await second.get('/ws/me')).status, 200, 'a session of one is known to the other')
    const { body } = await first.put(CONTACTS, { firstName: 'Ada' })
    t.match((await second.get(`${CONTACTS}/${body.data[0].id}`)).body.data, [{ firstName: 'Ada' }])
    t.match((await second.get(CONTACTS)).body, { total: 1 })
    const health = async (app: typeof one) => (await (app === one ? first : second).get('/health')).body.data[0].models
    const has = async (app: typeof one, field: string) =>
      (await (app === one ? first : second).get('/ws/meta/fields/contacts.Contact')).text.includes(`"${field}"`)

    await t.test('a folder that is new is published, and the others follow', async (t) => {
      writeModel(one.folder, 'contacts.Contact.json', withField('city'))
      await one.service.reload()
      t.match(await health(one), { current: true })
      t.equal((await first.put(CONTACTS, { firstName: 'B', city: 'Bern' })).status, 200)
      await until(() => has(two, 'city'))
      t.equal((await second.put(CONTACTS, { firstName: 'C', city: 'Chur' })).status, 200)
      t.match(await health(two), { current: false, why: [/another node has published a later one/] })
      await two.service.reload()
      t.match(await health(two), { current: false }, 'an older folder yields')
      writeModel(two.folder, 'contacts.Contact.json', withField('city'))
      await two.service.reload()
      t.match(await health(two), { current: true })
    })

    await t.test('what one node ends to record is not taken for unchanged by another', async (t) => {
      const ended = { ...withField('city'), history: false }
      const search = `${CONTACTS}?firstName[like]=%25x&limit=1`
      const { total } = (await second.get(search)).body
      t.equal((await second.get(search)).body.total, total)
      const { headers } = await second.get(CONTACTS)
      const etag = headers.get('etag') as string
      t.equal((await second.send('GET', CONTACTS, undefined, { 'if-none-match': etag })).status, 304)
      for (const app of [one, two]) writeModel(app.folder, 'contacts.Contact.json', ended)
      await one.service.reload()
      t.equal((await first.put(CONTACTS, { firstName: 'Max' })).status, 200)
      t.equal((await second.get(search)).body.total, total + 1)
      t.equal((await second.send('GET', CONTACTS, undefined, { 'if-none-match': etag })).status, 200)
      t.equal((await first.put(CONTACTS, { firstName: 'Rex' })).status, 200)
      t.equal((await second.get(search)).body.total, total + 2, 'nor is what it has counted since')
      for (const app of [one, two]) writeModel(app.folder, 'contacts.Contact.json', withField('city'))
      await one.service.reload()
      await two.service.reload()
    })

    await t.test('what one node has answered is in a page that many ask another one for', async (t) => {
      const page = `${CONTACTS}?limit=5`
      // As if all of this took less than the two milliseconds of a snapshot.
      const { storage } = two
      const own = { snapshotId: storage.snapshotId, newSnapshotId: storage.newSnapshotId }
      Object.assign(storage, { snapshotId: () => 1, newSnapshotId: () => 1 })
      t.teardown(() => Object.assign(storage, own))
      const ask = (etag: string | null) =>
        second.send('GET', page, undefined, etag === null ? {} : { 'if-none-match': etag })
      let { version } = (await first.get(`${CONTACTS}/1`)).body.data[0]
      for (const name of ['Ann', 'Bea', 'Ada']) {
        for (let times = 0; times < 3; times++) await ask(null)
        const etag = (await ask(null)).headers.get('etag')
        t.equal((await ask(etag)).status, 304)
        version = (await first.post(`${CONTACTS}/1`, { version, firstName: name })).body.data[0].version
        t.match((await ask(etag)).body, { data: [{ fullName: name }] })
        t.match((await ask(null)).body, { data: [{ fullName: name }] })
      }
    })

    await t.test('a node that starts with an older folder serves what the others serve', async (t) => {
      const three = await startApp(t, { folder: makeFolder(t), env: { DATABASE_URL } })
      t.match((await three.stranger.get('/health')).body.data, [{ models: { current: false } }])
      const third = Object.assign(await three.login(), { cookie: first.cookie })
      t.match((await third.get('/ws/meta/fields/contacts.Contact')).text, /"city"/)
    })

    await t.test('models that an earlier version has published are understood', async (t) => {
      const client = new pg.Client(DATABASE_URL)
      await client.connect()
      const without = `(SELECT jsonb_agg(model - 'search' - 'inverses') FROM jsonb_array_elements(models::jsonb) AS model)::text`
      await client.query(`UPDATE dossier_models SET models = ${without}`)
      await client.end()
      const three = await startApp(t, { folder: makeFolder(t), env: { DATABASE_URL } })
      const third = Object.assign(await three.login(), { cookie: first.cookie })
      t.match((await third.get(`${CONTACTS}?q=ada`)).body, { total: 1 })
    })

    await t.test('a node that starts while a table is being changed waits for it', async (t) => {
      const client = new pg.Client(DATABASE_URL)
      await client.connect()
      await client.query('BEGIN; LOCK TABLE "contacts__Contact" IN ACCESS EXCLUSIVE MODE')
      const folder = makeFolder(t, { 'contacts.Contact.json': withField('city') })
      const starting = startApp(t, { folder, env: { DATABASE_URL } })
      const waiting = 'SELECT 1 FROM pg_locks WHERE NOT granted AND relation = \'"contacts__Contact"\'::regclass'
      await until(async () => (await client.query(waiting)).rows.length > 0)
      // The table has another shape when the first look ends, which therefore does not count.
      await client.query(`SELECT pg_sleep(0.2)`)
      await client.query(`UPDATE dossier_tables SET shape = 'other' WHERE tbl = 'contacts__Contact'`)
      await client.query('COMMIT')
      await client.end()
      t.match((await (await starting).stranger.get('/health')).body.data, [{ ready: true }])
    })

    await t.test('who puts an earlier folder back publishes it again', async (t) => {
      writeModel(one.folder, 'contacts.Contact.json', CONTACT)
      await one.service.reload()
      t.match(await health(one), { current: true })
      t.notOk(await has(one, 'city'))
      await until(async () => !(await has(two, 'city')))
      t.match(await health(two), { current: false })
      await two.service.reload(true)
      t.match(await health(two), { current: true }, 'or says so')
      await until(() => has(one, 'city'))
    })

    await t.test('what changes on one is told by the other', async (t) => {
      const { next } = (await second.get('/ws/changes?limit=1000')).body
      await first.put(CONTACTS, { firstName: 'Eve' })
      t.match((await second.get(`/ws/changes?since=${next}`)).body.data, [{ operation: 'create', by: 'admin' }])
    })
  })
