import fc from 'fast-check'
import { sql } from 'kysely'
import t from 'tap'
import { createCounter, isMiscounted } from '../../src/tables/counts.ts'
import { migrate } from '../../src/tables/migrate.ts'
import { CONTACT, logSink, makeFolder, migrateTo, modelOf, startApp } from '../helper.ts'
import { freshStorage } from '../storage/fresh-storage.ts'

const item = (name: string, properties: object = {}) =>
  modelOf(name, { type: 'object', audit: false, properties: { x: { type: 'string' }, ...properties } })
const MODELS = [
  item('a.Parent'),
  item('a.Child', { to: { type: 'integer', reference: 'a.Parent', onDelete: 'cascade' } }),
]

t.test('exact after thousands of random operations, cascades and rollbacks', async (t) => {
  const { storage } = await freshStorage()
  const { db } = storage
  await migrateTo(storage, MODELS)
  const { total, locate } = createCounter(storage, MODELS[1] as (typeof MODELS)[0])
  const operation = fc.tuple(
    fc.constantFrom('parent', 'child', 'child', 'jump', 'delete', 'cascade', 'undo'),
    fc.nat(5000),
  )
  for (const [what, number] of fc.sample(operation, { numRuns: 1000, seed: 31 })) {
    if (what === 'parent') await db.insertInto('a__Parent').values({ x: 'p' }).execute()
    if (what === 'child')
      await sql`INSERT INTO "a__Child" ("to") SELECT id FROM "a__Parent" ORDER BY id % ${number + 1}, id LIMIT 6`.execute(
        db,
      )
    if (what === 'jump')
      await db
        .insertInto('a__Child')
        .values({ id: number * 7 + 1 })
        .onConflict((on) => on.doNothing())
        .execute()
    if (what === 'delete') await db.deleteFrom('a__Child').where('id', '=', number).execute()
    if (what === 'cascade') await sql`DELETE FROM "a__Parent" WHERE id % 50 = ${number % 50}`.execute(db)
    if (what === 'undo')
      await storage
        .write({
          steps: [
            db.insertInto('a__Child').values({ x: 'never' }).compile(),
            { sql: 'SELECT 1 WHERE false', parameters: [], mustReturnRow: true },
          ],
        })
        .catch(() => {})
  }
  const ids = (await db.selectFrom('a__Child').select('id').orderBy('id').execute()).map(({ id }) => id as number)
  t.ok(ids.length > 500)
  t.equal(await total(), ids.length)
  for (let offset = 0; offset < ids.length; offset += 37) {
    const { from, skip } = await locate(offset)
    t.equal(ids.filter((id) => id >= from)[skip], ids[offset], `offset ${offset}`)
  }
  t.strictSame(await locate(ids.length), { from: Number.MAX_SAFE_INTEGER, skip: 0 })
  for (const model of MODELS) t.notOk(await isMiscounted(db, model), 'nothing to repair')
})

t.test('a table that was changed by hand, or made before anybody counted, is counted anew', async (t) => {
  const { storage } = await freshStorage()
  const { db } = storage
  await migrateTo(storage, MODELS)
  await sql`DROP TRIGGER a__Parent__insert__count`.execute(db)
  await db
    .insertInto('a__Parent')
    .values([{ x: '1' }, { x: '2' }])
    .execute()
  const { total } = createCounter(storage, MODELS[0] as (typeof MODELS)[0])
  t.equal(await total(), 0)
  await migrateTo(storage, MODELS)
  t.equal(await total(), 2, 'the trigger is back, and what it missed is counted')
  await sql`UPDATE dossier_counts SET live = 7`.execute(db)
  t.ok(await isMiscounted(db, MODELS[0] as (typeof MODELS)[0]))
  await migrate(storage, MODELS, {}, ['a.Parent'])
  t.equal(await total(), 2)
  await migrateTo(storage, [item('a.Parent', { y: { type: 'integer' } }), ...MODELS.slice(1)])
  await migrateTo(storage, [
    modelOf('a.Parent', { type: 'object', audit: false, properties: { x: { type: 'array' } } }),
  ]).catch(() => {})
  t.equal(await total(), 2)
})

t.test('the start reports what it repaired, and pages and totals are right', async (t) => {
  const folder = makeFolder(t, { 'contacts.Contact.json': { ...CONTACT, access: { read: ['*'] } } })
  const first = await startApp(t, { folder })
  await first.db
    .insertInto('contacts__Contact')
    .values(Array.from({ length: 3000 }, (_, i) => ({ firstName: `n${i}` })))
    .execute()
  await sql`DELETE FROM "contacts__Contact" WHERE id % 3 = 0`.execute(first.db)
  await sql`UPDATE dossier_counts SET live = live + 1`.execute(first.db)
  await first.close()
  const { lines, stream } = logSink()
  const second = await startApp(t, { folder, env: { LOG_LEVEL: 'warn' }, log: stream })
  t.match(lines, [/contacts\.Contact.*recounted/])
  const client = await second.login()
  const page = async (query: string) => (await client.get(`/ws/rest/contacts.Contact?${query}`)).body
  t.equal((await page('limit=0')).total, 2000)
  t.match(await page('offset=1998&limit=5'), { total: 2000, data: [{ id: 2998 }, { id: 2999 }] })
  t.match(await page('offset=1000&limit=1'), { total: 2000, data: [{ id: 1501 }] })
  t.match(await page('offset=5000'), { total: 2000, data: [] })
})
