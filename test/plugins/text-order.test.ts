import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { MAX_ROWS_TO_FILL } from '../../src/tables/plan.ts'
import { shapesWithOrderKeys } from '../../src/tables/shape.ts'
import { maintainOrderKeys } from '../../src/upkeep/order-keys.ts'
import { type Client, PASSWORD } from '../client.ts'
import { atShell, isPostgres, sqliteOnly } from '../engine.ts'
import { logSink, modelOf, type Running, startApp, writeModel } from '../helper.ts'

const text = { type: 'string' }
const SORTED = ['apfel', 'Ärzte', 'Çelik', 'Öztürk', 'Strasse', 'Straße', 'Zebra', 'Ångström'].sort((a, b) =>
  a
    .normalize('NFD')
    .replace(/[\u0300-\u036f]/g, '')
    .toLowerCase() <
  b
    .normalize('NFD')
    .replace(/[\u0300-\u036f]/g, '')
    .toLowerCase()
    ? -1
    : 1,
)

const person = (name: object, more: object = {}) => ({
  'o.Person.json': { type: 'object', properties: { name, note: text }, audit: false, ...more },
})
const PEOPLE = '/ws/rest/o.Person'

async function namesIn(client: Client, query = '?sort=name', limit = 100): Promise<(string | null)[]> {
  const { body, status } = await client.get(`${PEOPLE}${query}&limit=${limit}`)
  if (status !== 200) throw new Error(JSON.stringify(body))
  return body.data.map(({ name }: { name: string | null }) => name)
}

t.test('texts are in the order in which people look for them', async (t) => {
  for (const [kind, name] of Object.entries({
    plain: text,
    indexed: { ...text, index: true },
    unique: { ...text, unique: true },
  })) {
    const service = await startApp(t, { models: person(name) })
    const client = await service.login()
    for (const one of SORTED.toReversed()) await client.put(PEOPLE, { name: one })
    await client.put(PEOPLE, { note: 'has no name' })
    t.strictSame(
      await namesIn(client),
      [null, 'Ångström', 'apfel', 'Ärzte', 'Çelik', 'Öztürk', 'Strasse', 'Straße', 'Zebra'],
      kind,
    )
    t.strictSame((await namesIn(client, '?sort=-name')).at(-1), null)
    t.strictSame(await namesIn(client, '?sort=name&name[gt]=ARZTE'), [
      'Ärzte',
      'Çelik',
      'Öztürk',
      'Strasse',
      'Straße',
      'Zebra',
    ])
    t.strictSame(await namesIn(client, '?sort=name&name[between]=b,o%E2%80%8Az'), ['Çelik'])
    t.strictSame(await namesIn(client, '?sort=name&name[lt]=b'), ['Ångström', 'apfel', 'Ärzte'])
    t.strictSame(await namesIn(client, '?sort=name&name=strasse'), [], '"=" is exact')
    t.strictSame(await namesIn(client, '?sort=name&name=Strasse'), ['Strasse'])
    t.strictSame(await namesIn(client, '?sort=name&name[in]=Strasse,strasse,Zebra'), ['Strasse', 'Zebra'])
    t.strictSame(await namesIn(client, '?sort=name&name[null]=true'), [null])
    t.strictSame(await namesIn(client, '?sort=name&name[ne]=Zebra&name[null]=false', 1), ['Ångström'])
  }
})

/** The names that an index of the table has, through the plan of a query. */
async function scans({ storage }: Running, where: string): Promise<boolean> {
  const statement = { sql: `SELECT id FROM "o__Person" ${where} LIMIT 10`, parameters: [] }
  return storage.needsScan(statement, 'o__Person')
}

t.test('finds by an indexed text do not go through all records', async (t) => {
  const log = logSink()
  const service = await startApp(t, {
    models: person({ ...text, index: true }, { indexes: [['note', 'name']] }),
    log: log.stream,
  })
  const client = await service.login()
  await sql`WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${MAX_ROWS_TO_FILL + 1})
    INSERT INTO "o__Person"(version, name, note) SELECT 0, 'Ö' || n, 'b' FROM numbers`.execute(service.db)
  if (isPostgres) await atShell(service.config, 'ANALYZE "o__Person"')
  const statements: { sql: string; parameters: readonly unknown[] }[] = []
  const search = service.storage.search.bind(service.storage)
  service.storage.search = (statement, options) => {
    statements.push(statement)
    return search(statement, options)
  }
  for (const query of [
    '?sort=name',
    '?sort=-name',
    '?name=x',
    '?name[gt]=y&sort=name',
    '?note=b&sort=name&name[gte]=öz',
  ])
    await client.get(`${PEOPLE}${query}&limit=3`)
  for (const statement of statements.filter(({ sql: asked }) => !asked.includes('count(*)')))
    t.notOk(await service.storage.needsScan(statement, 'o__Person'), statement.sql)
  t.ok(statements.length >= 5)
  t.ok(await scans(service, 'ORDER BY note || name'), 'what has no index does')
})

async function change({ service, folder }: Running, properties: object, more: object = {}) {
  writeModel(folder, 'o.Person.json', { type: 'object', properties, audit: false, ...more })
  await service.reload()
}

t.test('an index comes, goes, comes back, and is renamed', async (t) => {
  const service = await startApp(t, { models: person(text) })
  const client = await service.login()
  const add = async (...names: string[]) => {
    for (const name of names) await client.put(PEOPLE, { name })
  }
  const indexed = { ...text, index: true }
  await add('Zoë', 'Ämil')
  await change(service, { name: indexed, note: text })
  await add('anna')
  t.strictSame(await namesIn(client), ['Ämil', 'anna', 'Zoë'])
  await change(service, { name: text, note: text })
  await add('Äbel')
  t.strictSame(await namesIn(client), ['Äbel', 'Ämil', 'anna', 'Zoë'])
  await change(service, { name: { ...text, unique: true }, note: text })
  t.strictSame(await namesIn(client), ['Äbel', 'Ämil', 'anna', 'Zoë'])
  await change(service, { name: text, note: text })
  await change(service, { name: text, note: text })
  await change(service, { title: { ...indexed, renamedFrom: 'name' }, note: text })
  await change(service, { name: { ...indexed, renamedFrom: 'title' }, note: text })
  await add('Öl')
  t.strictSame(await namesIn(client), ['Äbel', 'Ämil', 'anna', 'Öl', 'Zoë'])
  await change(service, { name: { type: 'string', index: true, format: 'email' }, note: text })
  t.strictSame(await namesIn(client), ['Äbel', 'Ämil', 'anna', 'Öl', 'Zoë'])
  await change(service, { name: text, note: text })
  t.strictSame(await namesIn(client), ['Äbel', 'Ämil', 'anna', 'Öl', 'Zoë'])
  t.match((await client.get('/health')).body.data, [{ models: { current: true } }])
  const { body } = await client.get(`${PEOPLE}/5/history`)
  t.equal(body.data.length, 1, 'order keys are no change of the record')
})

t.test('many records get their keys while the table is served', async (t) => {
  const service = await startApp(t, { models: person(text) })
  const client = await service.login()
  await sql`WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${MAX_ROWS_TO_FILL + 1})
    INSERT INTO "o__Person"(version, name) SELECT 0, CASE n % 2 WHEN 0 THEN 'Ä' ELSE 'b' END || n FROM numbers`.execute(
    service.db,
  )
  await change(service, {
    name: { ...text, index: true },
    label: { ...text, computed: 'x{name}', index: true },
    note: text,
  })
  t.match((await client.get('/health')).body.data[0].models, { current: true })
  t.strictSame(await namesIn(client, '?sort=name', 2), ['Ä10', 'Ä100'])
  t.strictSame(await namesIn(client, '?sort=-label', 2), ['b9999', 'b9997'])
})

t.test('a computed text is sorted by what it is computed from, also if only a part of that is sent', async (t) => {
  const fields = Object.fromEntries(Array.from({ length: 45 }, (_, nth) => [`f${nth}`, text]))
  const name = { ...text, computed: '{first} {last} {age}', index: true }
  const properties = { first: text, last: text, age: { type: 'integer' }, name, ...fields }
  const service = await startApp(t, { models: { 'o.Person.json': { type: 'object', properties, list: ['name'] } } })
  const client = await service.login()
  for (const last of ['Zoë', 'Ämil', 'Öl']) await client.put(PEOPLE, { first: 'Ö', last })
  t.strictSame(await namesIn(client), ['Ö Ämil', 'Ö Öl', 'Ö Zoë'])
  await client.post(`${PEOPLE}/1`, { version: 0, first: 'A' })
  t.strictSame(await namesIn(client), ['A Zoë', 'Ö Ämil', 'Ö Öl'])
  // More sets of fields than have statements of their own.
  for (let nth = 0; nth < 45; nth++) await client.post(`${PEOPLE}/1`, { version: nth + 1, [`f${nth}`]: 'x' })
  await client.post(`${PEOPLE}/1`, { version: 46, last: 'Çelik', f1: 'y', f2: 'z', age: 7 })
  await client.post(`${PEOPLE}/2`, { version: 0, last: null, f3: 'z', f7: 'y' })
  t.strictSame(await namesIn(client), ['A Çelik 7', 'Ö', 'Ö Öl'])
  await client.delete(`${PEOPLE}/1`)
  await client.post(`${PEOPLE}/1/restore`, {})
  t.strictSame(await namesIn(client), ['A Çelik 7', 'Ö', 'Ö Öl'])
})

async function waitFor(t: Test, client: Client, wanted: unknown, what: string) {
  const end = Date.now() + 60_000
  while (JSON.stringify(await namesIn(client)) !== JSON.stringify(wanted) && Date.now() < end) await sleep(50)
  t.strictSame(await namesIn(client), wanted, what)
}

t.test('a text that is changed at the shell is sorted soon', async (t) => {
  const label = { ...text, computed: '<{name}>', index: true }
  const properties = { name: { ...text, index: true }, label, note: text }
  const service = await startApp(t, { models: { 'o.Person.json': { type: 'object', properties, audit: false } } })
  const client = await service.login()
  for (const name of ['Zoë', 'Ämil', 'Öl']) await client.put(PEOPLE, { name })
  const stop = maintainOrderKeys(service.storage, (task, error) => t.fail(task, { error }), 10)
  t.teardown(stop)
  await atShell(service.config, `UPDATE "o__Person" SET name = 'Çelik' WHERE id = 3`)
  await atShell(service.config, `INSERT INTO "o__Person" (version, name) VALUES (0, 'Ünal')`)
  await waitFor(t, client, ['Ämil', 'Çelik', 'Ünal', 'Zoë'], 'changed and added')
  t.strictSame(await namesIn(client, '?sort=-label'), ['Zoë', 'Ünal', 'Çelik', 'Ämil'])
  t.strictSame(await namesIn(client, '?name=Çelik'), ['Çelik'])
  t.equal((await client.get(`${PEOPLE}/3/history`)).body.data.length, 2, 'the change is in the history once')
})

t.test('a find has no ETag while its order may still change', sqliteOnly, async (t) => {
  const service = await startApp(t, { models: { 'o.Person.json': { type: 'object', properties: { name: text } } } })
  const client = await service.login()
  await client.put(PEOPLE, { name: 'Öl' })
  const tag = async () => (await client.get(`${PEOPLE}?sort=name`)).headers.get('etag')
  t.type(await tag(), 'string')
  // As a change at a shell notes it.
  await atShell(service.config, `INSERT INTO dossier_unsorted (tbl, id) VALUES ('o__Person', 1)`)
  t.equal(await tag(), null)
  await atShell(service.config, 'DELETE FROM dossier_unsorted')
  t.type(await tag(), 'string')
})

t.test('a failure to make keys is told, and what is left behind does not matter', sqliteOnly, async (t) => {
  const service = await startApp(t, { models: person({ ...text, index: true }) })
  await sql`INSERT INTO dossier_unsorted (tbl, id) VALUES ('o__Gone', 1), ('o__Person', 9)`.execute(service.db)
  const failures: string[] = []
  const stop = maintainOrderKeys(service.storage, (task) => failures.push(task), 5)
  const left = async () => (await service.db.selectFrom('dossier_unsorted').selectAll().execute()).length
  const end = Date.now() + 60_000
  while ((await left()) > 0 && Date.now() < end) await sleep(10)
  t.equal(await left(), 0)
  stop()
  t.strictSame(failures, [])
  const readOne = () => Promise.reject(new Error('broken'))
  const ill = { ...service.storage, dialect: service.storage.dialect, readOne }
  const stopIll = maintainOrderKeys(ill as typeof service.storage, (task) => failures.push(task), 5)
  while (failures.length === 0 && Date.now() < end) await sleep(10)
  stopIll()
  t.match(failures[0], /order keys/)
  let looks = 0
  let answer = () => {}
  const waiting = new Promise<undefined>((resolve) => {
    answer = () => resolve(undefined)
  })
  const slow = { ...ill, readOne: () => ++looks && waiting }
  const stopSlow = maintainOrderKeys(slow as unknown as typeof service.storage, (task) => failures.push(task), 1)
  await sleep(100)
  stopSlow()
  answer()
  t.equal(looks, 1, 'one look after the other')
})

t.test('what a delete clears in other records is sorted at once', async (t) => {
  const properties = {
    name: text,
    company: { type: 'integer', reference: 'o.Company', onDelete: 'clear' },
    label: { ...text, computed: '{name} {company}', index: true },
  }
  const service = await startApp(t, {
    models: {
      'o.Company.json': { type: 'object', properties: { name: text } },
      'o.Person.json': { type: 'object', properties, indexes: [['updatedBy']] },
    },
  })
  const admin = await service.login()
  await admin.put('/ws/users', { username: 'bob', password: PASSWORD, roles: ['admin'] })
  const bob = await service.login('bob')
  await admin.put('/ws/rest/o.Company', { name: 'x' })
  await admin.put(PEOPLE, { name: 'b', company: 1 })
  await admin.put(PEOPLE, { name: 'b 0' })
  await bob.post('/ws/batch', [{ delete: 'o.Company', id: 1 }])
  const labels = async (query: string) =>
    (await admin.get(`${PEOPLE}?${query}`)).body.data.map(({ label }: { label: string }) => label)
  t.strictSame(await labels('sort=label'), ['b', 'b 0'])
  t.strictSame(await labels('label=b'), ['b'])
  t.strictSame(await labels('updatedBy=bob'), ['b'])
})

t.test('names that differ in case only', async (t) => {
  const service = await startApp(t, { models: person({ ...text, index: true }) })
  const client = await service.login()
  for (const name of ['Zoë', 'anna']) await client.put(PEOPLE, { name })
  for (const properties of [
    { name: text },
    { Name: { ...text, renamedFrom: 'name' } },
    { Name: { ...text, index: true } },
    { Name: text },
    { Name: { ...text, index: true } },
    { name: { ...text, index: true, renamedFrom: 'Name' } },
    { title: { ...text, renamedFrom: 'name' } },
    { title: { ...text, index: true }, name: { ...text, index: true } },
  ]) {
    await change(service, { ...properties, note: text })
    t.match((await client.get('/health')).body.data, [{ models: { current: true } }], JSON.stringify(properties))
    const [field = ''] = Object.keys(properties)
    const { data } = (await client.get(`${PEOPLE}?sort=${field}&fields=${field}`)).body
    t.strictSame(
      data.map((row: Record<string, string>) => row[field]),
      ['anna', 'Zoë'],
    )
  }
})

t.test('what was made for other order keys is not written', async (t) => {
  const label = (template: string) => ({ ...text, computed: template, index: true })
  const service = await startApp(t, { models: person(text) })
  const old = modelOf('o.Person', {
    type: 'object',
    properties: { name: text, note: text, label: label('{name}') },
    audit: false,
  })
  const client = await service.login()
  await change(service, { name: text, note: text, label: label('{note}') })
  const { tables } = service.storage.dialect
  const unit = {
    shapes: shapesWithOrderKeys([old], tables),
    steps: [{ sql: `INSERT INTO "o__Person" (name) VALUES ('x')`, parameters: [] }],
  }
  if (isPostgres) await service.storage.write(unit)
  else await t.rejects(service.storage.write(unit), { kind: 'stale' } as never)
  await client.put(PEOPLE, { name: 'a', note: 'Ö' })
  t.equal((await client.get(`${PEOPLE}?label=Ö`)).body.total, 1)
})

t.test('letters that only one of Node and the database knows', async (t) => {
  const service = await startApp(t, { models: person({ ...text, index: true }) })
  const client = await service.login()
  for (const name of ['\ua7ce', '\u{16ea0}', '\ua7f1a']) {
    await client.put(PEOPLE, { name })
    t.equal((await client.get(`${PEOPLE}?name=${encodeURIComponent(name)}`)).body.total, 1, JSON.stringify(name))
  }
})
