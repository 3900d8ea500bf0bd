import { rmSync } from 'node:fs'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { readTable } from '../../src/storage/sqlite/catalog.ts'
import { databaseFile } from '../../src/storage/sqlite/connections.ts'
import type { Client } from '../client.ts'
import { migrateTo, modelOf, type Running, startApp, writeModel } from '../helper.ts'
import { freshStorage } from '../storage/fresh-storage.ts'

const simple = (name: string, properties: object, more: object = {}) =>
  modelOf(name, { type: 'object', properties, audit: false, ...more })
const text = { type: 'string' }

/** One service for most tests: each has a model of its own there. */
let shared: Promise<{ service: Running; client: Client }> | undefined
let models = 0
const whole: Test = t

async function start(t: Test) {
  const service = await startApp(t, { models: {} })
  return { service, client: await service.login() }
}

/** A model whose file can be changed, in the service of all tests or in a given one, and the address of its records. */
async function withModel(t: Test, properties: object, given?: Awaited<ReturnType<typeof start>>) {
  shared ??= start(whole)
  const { service, client } = given ?? (await shared)
  const name = `a.B${models++}`
  const B = `/ws/rest/${name}`
  const change = async (next: object, also: object = {}) => {
    writeModel(service.folder, `${name}.json`, { type: 'object', audit: false, properties: next, ...also })
    await service.service.reload()
    return (await client.get('/health')).body.data[0].models
  }
  // What is refused here would hold up the changes of the next test.
  t.teardown(() => rmSync(join(service.folder, 'models', `${name}.json`), { force: true }))
  t.match(await change(properties), { current: true })
  const read = async (id: number) => (await client.get(`${B}/${id}`)).body.data?.[0]
  return { service, client, change, read, B, table: name.replace('.', '__') }
}

t.test('what was cleared stays so when its type changes, whatever the default', async (t) => {
  const { client, change, read, B } = await withModel(t, { n: { type: 'string', default: '7' } })
  await client.put(B, { n: null })
  await client.put(B, {})
  t.match(await change({ n: { type: 'integer', default: 7 } }), { current: true })
  t.match([await read(1), await read(2)], [{ n: null }, { n: 7 }])
})

t.test('a default is what the file says now', async (t) => {
  const { client, change, read, B } = await withModel(t, { n: { type: 'integer', default: 1 }, x: text })
  await client.put(B, {})
  await change({ n: { type: 'integer', default: 2 }, x: text })
  await client.put(B, {})
  await change({ n: { type: 'integer' }, x: text })
  await client.put(B, {})
  t.match([await read(1), await read(2), await read(3)], [{ n: 1 }, { n: 2 }, { n: null }])
})

t.test('a hidden column is left alone, also one of an earlier version that fills in a default', async (t) => {
  const code = { code: { type: 'string', unique: true } }
  const { client, service, change, read, B, table } = await withModel(t, { ...code, x: text }, await start(t))
  await client.put(B, { code: 'k' })
  await change({ x: text })
  await client.put(B, { x: '1' })
  await client.put(B, { x: '2' })
  t.match(await change({ code: { type: 'string', unique: true }, x: text }), { current: true })
  t.match([await read(1), await read(2), await read(3)], [{ code: 'k' }, { code: null }, { code: null }])

  await service.close()
  const old = new Sqlite(databaseFile(service.config.DATA_DIR))
  old.exec(`ALTER TABLE "${table}" ADD COLUMN kind TEXT DEFAULT 'old'`)
  old.close()
  const again = await startApp(t, { folder: service.folder })
  const back = await again.login()
  await back.put(B, { x: '3' })
  const rows = await again.db.selectFrom(table).select(['id', 'kind']).orderBy('id').execute()
  t.strictSame(
    rows.map(({ kind }) => kind),
    ['old', 'old', 'old', null],
  )
})

t.test('a rename is carried out where the new column is empty, else refused', async (t) => {
  const { client, change, read, B } = await withModel(t, { a: text })
  await client.put(B, { a: 'kept' })
  t.match(await change({ b: text }), { current: true }, 'saved without renamedFrom first')
  t.match(await read(1), { b: null })
  t.match(await change({ b: { ...text, renamedFrom: 'a' } }), { current: true })
  t.match(await read(1), { b: 'kept' })
  t.match(await change({ c: text }), { current: true })
  await client.post(`${B}/1`, { version: 0, c: 'another' })
  const refused = await change({ c: { ...text, renamedFrom: 'b' } })
  t.match(refused, {
    current: false,
    why: [/"c" cannot take over the values of "b": the records 1 have values of their own there/],
  })
  t.match(await change({ c: text }), { current: true })
  t.match(await change({ d: { type: 'integer', default: 5 }, c: text }), { current: true })
  t.match(await change({ d: { ...text, renamedFrom: 'c' } }), {
    current: false,
    why: [/"d" cannot take over the values of "c": the records 1 have/],
  })
})

t.test('a default that was filled in is nothing that could be lost', async (t) => {
  const { client, change, read, B } = await withModel(t, { a: text })
  await client.put(B, { a: 'kept' })
  await client.put(B, {})
  await change({ b: { ...text, default: 'x' } })
  t.match(await read(1), { b: 'x' })
  t.match(await change({ b: { ...text, default: 'x', renamedFrom: 'a' } }), { current: true })
  t.match([await read(1), await read(2)], [{ b: 'kept' }, { b: null }])
})

t.test('only the case of a field’s name changes', async (t) => {
  const { client, change, read, B } = await withModel(t, { Email: text })
  await client.put(B, { Email: 'kept' })
  t.match(await change({ email: text }), { current: false, why: [/say "renamedFrom": "Email"/] })
  t.match(await change({ email: { ...text, renamedFrom: 'Email' } }), { current: true })
  t.match(await read(1), { email: 'kept' })
})

t.test('a field with the name of a computed one that is gone', async (t) => {
  const { client, change, read, B } = await withModel(t, { a: text, n: { ...text, computed: '{a}!' } })
  await client.put(B, { a: 'x' })
  t.match(await change({ a: text }), { current: true })
  t.match(await change({ a: text, n: { type: 'integer', default: 3 } }), { current: true })
  t.match(await read(1), { n: 3 })
  t.match(await change({ a: text, m: { ...text, renamedFrom: 'n' } }), { current: true })
  t.match(await read(1), { m: '3' })
})

t.test('a new unique that records break is refused by name, also beside other changes', async (t) => {
  const { client, change, B } = await withModel(t, { code: text, n: text })
  for (const code of ['1.0', '1.00', '2']) await client.put(B, { code, n: '5' })
  const decimal = { type: 'string', format: 'decimal', unique: true }
  t.match(await change({ code: decimal, n: text }), {
    why: [/"code" cannot be unique: the records 1, 2 share a value/],
  })
  t.match(await change({ code: text, n: { type: 'integer', unique: true } }), { why: [/the records 1, 2, 3 share/] })
  t.match(await change({ code: text, m: { ...text, renamedFrom: 'n', unique: true } }), { why: [/records 1, 2, 3/] })
  const label = { ...text, computed: '{n}' }
  t.match(await change({ code: { type: 'string', format: 'decimal' }, n: text, label }, { unique: [['label']] }), {
    why: [/"label" cannot be unique: the records 1, 2, 3/],
  })
  const { storage } = await freshStorage()
  const unique = { type: 'integer', unique: true, default: 1 }
  await migrateTo(storage, [simple('a.B', { x: text })])
  await sql`INSERT INTO "a__B" (x) VALUES ('1'), ('2')`.execute(storage.db)
  await t.rejects(migrateTo(storage, [simple('a.B', { x: { type: 'integer' }, y: unique })]), /records 1, 2 share/)
})

t.test('an integer becomes a reference to a model that is new', async (t) => {
  const { client, service, change, read, B } = await withModel(t, { to: { type: 'integer' } })
  await client.put(B, {})
  writeModel(service.folder, 'a.New.json', { type: 'object', properties: { x: text } })
  t.match(await change({ to: { type: 'integer', reference: 'a.New' } }), { current: true })
  t.match(await read(1), { to: null })
  await change({ to: { type: 'integer' } })
  await client.post(`${B}/1`, { version: 0, to: 9 })
  writeModel(service.folder, 'a.Newer.json', { type: 'object', properties: { x: text } })
  t.match(await change({ to: { type: 'integer', reference: 'a.Newer' } }), {
    why: [/"to" would refer to nothing in the records 1/],
  })
})

t.test('conversions that would lose digits are refused', async (t) => {
  const { storage } = await freshStorage()
  const refused: [string, object][] = [
    ['[9007199254740993]', { type: 'array' }],
    ['{"a":{"b":1e400}}', { type: 'object' }],
    ['{"a":1,"a":2}', { type: 'object' }],
    ['2024-01-01T00:00:00.1234Z', { type: 'string', format: 'date-time' }],
    ['00:00:00.0001Z', { type: 'string', format: 'time' }],
    ['0.12345678901234567891', { type: 'number' }],
  ]
  for (const [index, [value, type]] of refused.entries()) {
    const name = `a.B${index}`
    await migrateTo(storage, [simple(name, { x: text })])
    await storage.db.insertInto(`a__B${index}`).values({ x: value }).execute()
    await t.rejects(migrateTo(storage, [simple(name, { x: type })]), /without loss in the records 1\./, value)
  }
  await migrateTo(storage, [simple('a.C', { x: text })])
  await storage.db.insertInto('a__C').values({ x: '2024-01-01T00:00:00.120000Z' }).execute()
  await migrateTo(storage, [simple('a.C', { x: { type: 'string', format: 'date-time' } })])
  t.match(await storage.db.selectFrom('a__C').selectAll().execute(), [{ x: '2024-01-01T00:00:00.120Z' }])
})

t.test('a model that was away comes back with right totals, and what it does on a delete', async (t) => {
  const { storage, folder } = await freshStorage()
  const target = simple('a.Target', { x: text })
  const child = simple('a.Child', { to: { type: 'integer', reference: 'a.Target', onDelete: 'clear' } })
  await migrateTo(storage, [target, child])
  await sql`INSERT INTO "a__Target" (x) VALUES ('1'), ('2'), ('3')`.execute(storage.db)
  await sql`INSERT INTO "a__Child" ("to") VALUES (1), (2)`.execute(storage.db)
  await migrateTo(storage, [target])
  await t.rejects(sql`DELETE FROM "a__Target" WHERE id = 1`.execute(storage.db), /not served/, 'its records hold it up')
  await sql`DELETE FROM "a__Target" WHERE id = 3`.execute(storage.db)
  await sql`INSERT INTO "a__Child" ("to") VALUES (2)`.execute(storage.db)
  await migrateTo(storage, [target, child])
  await sql`DELETE FROM "a__Target" WHERE id = 2`.execute(storage.db)
  const rows = await sql`SELECT id, version, "to" FROM "a__Child"`.execute(storage.db)
  t.strictSame(rows.rows, [
    { id: 1, version: 0, to: 1 },
    { id: 2, version: 1, to: null },
    { id: 3, version: 1, to: null },
  ])
  const counts = await sql`SELECT tbl, live FROM dossier_counts ORDER BY tbl`.execute(storage.db)
  t.strictSame(counts.rows, [
    { tbl: 'a__Child', live: 3 },
    { tbl: 'a__Target', live: 1 },
  ])
  // As an earlier version left it: without triggers while it was away.
  const other = new Sqlite(databaseFile(join(folder, 'data')))
  other.exec('DROP TRIGGER a__Child__insert__count; INSERT INTO "a__Child" ("to") VALUES (NULL)')
  other.close()
  const [plan] = await migrateTo(storage, [target, child])
  t.match(plan, { model: { name: 'a.Child' }, steps: [{ kind: 'triggers' }] })
  t.match((await sql`SELECT live FROM dossier_counts WHERE tbl = 'a__Child'`.execute(storage.db)).rows, [{ live: 4 }])
})

t.test('a name that differs only in case, and more columns than there can be', async (t) => {
  const { storage } = await freshStorage()
  await migrateTo(storage, [simple('a.Thing', { x: text })])
  await t.rejects(migrateTo(storage, [simple('A.Thing', { x: text })]), {
    message: /^A\.Thing: The name differs from that of a\.Thing, whose table exists, only in case/,
  })
  const many = (from: number) =>
    Object.fromEntries(Array.from({ length: 900 }, (_, index) => [`f${from + index}`, text]))
  await migrateTo(storage, [simple('a.Wide', many(0))])
  await migrateTo(storage, [simple('a.Wide', many(1000))])
  await t.rejects(migrateTo(storage, [simple('a.Wide', many(2000))]), /With its 1800 hidden columns .* at most 2000/)
  t.ok(await readTable(storage.db, 'a__WIDE'))
})

t.test('more of the same: keys that are converted, unset or computed, and what cannot be foreseen', async (t) => {
  const { storage } = await freshStorage()
  const pair = (type: string) =>
    simple('a.Pair', { x: { type }, y: text }, type === 'integer' ? { unique: [['x', 'y']] } : {})
  await migrateTo(storage, [pair('string')])
  await sql`INSERT INTO "a__Pair" (x, y) VALUES ('1', NULL), ('1', 'a'), (NULL, 'a'), ('1', 'b')`.execute(storage.db)
  await migrateTo(storage, [pair('integer')])
  t.equal((await storage.db.selectFrom('a__Pair').select('x').where('x', '=', 1).execute()).length, 3)

  // A field takes over from another, where a computed column of its name is left.
  await migrateTo(storage, [simple('a.Old', { x: text, z: { type: 'string', computed: '{x}!' } })])
  await sql`INSERT INTO "a__Old" (x) VALUES ('kept')`.execute(storage.db)
  await migrateTo(storage, [simple('a.Old', { z: { ...text, renamedFrom: 'x' } })])
  t.match(await storage.db.selectFrom('a__Old').select('z').execute(), [{ z: 'kept' }])

  const model = simple('a.B', { x: text })
  await t.rejects(migrateTo(storage, [{ ...model, name: 'a."B' }]), { code: 'SQLITE_ERROR' })
})

t.test('two tables whose files say the same are made anew at once', async (t) => {
  const { storage } = await freshStorage()
  const both = (type: string) => ['a.One', 'a.Two'].map((name) => simple(name, { f: { type } }))
  await migrateTo(storage, both('integer'))
  for (const name of ['a__One', 'a__Two']) await storage.db.insertInto(name).values({ f: name.length }).execute()
  await migrateTo(storage, both('string'))
  for (const name of ['a__One', 'a__Two'])
    t.match(await storage.db.selectFrom(name).select('f').execute(), [{ f: '6' }], name)
})
