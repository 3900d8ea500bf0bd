import { sql } from 'kysely'
import t from 'tap'
import { FORMATS, type Format } from '../../src/model/formats.ts'
import type { Field, Model } from '../../src/model/model.ts'
import { planMigration } from '../../src/tables/migrate.ts'
import { createMigrationPlan } from '../../src/tables/migration-plan.ts'
import { planTable } from '../../src/tables/plan.ts'
import { rebuilderFor } from '../../src/tables/rebuild/strategies.ts'
import { hasServer } from './run-on-postgres.ts'

const isThere = hasServer()
process.env.TEST_ENGINE = 'postgres'
const { migrateTo, modelOf, testStorage } = await import('../helper.ts')

const thing = (properties: object, more: object = {}): Model =>
  modelOf('a.Thing', { type: 'object', properties, audit: false, ...more })

if (isThere) {
  t.test('an index with the keys of an earlier version is made again', async (t) => {
    const storage = await testStorage(t)
    const models = [thing({ name: { type: 'string', index: true } })]
    await migrateTo(storage, models)
    await sql`ALTER INDEX "a__Thing__name__sort2" RENAME TO "a__Thing__name__sort1"`.execute(storage.db)
    const [plan] = await migrateTo(storage, models)
    t.match(
      plan?.steps.map(({ what }) => what),
      ['drop the index a__Thing__name__sort1', 'index name'],
    )
    t.match(await storage.db.dialect.tables.readTable(storage.db, 'a__Thing'), {
      indexes: [{ name: 'a__Thing__name__sort2' }],
    })
    t.strictSame(await migrateTo(storage, models), [])
  })

  t.test('a new format gets its column type without a change of the schema', async (t) => {
    const storage = await testStorage(t)
    const { db } = storage
    const formats = FORMATS as Record<string, Format>
    formats.fruit = { column: 'FRUIT', wanted: 'a fruit', mustBe: 'must be a fruit', sample: 'apple' }
    t.teardown(() => delete formats.fruit)
    const model = thing({ one: { type: 'string' } })
    const field = model.fields.find(({ name }) => name === 'one') as Field
    field.format = 'fruit'
    await migrateTo(storage, [model])
    const table = await db.dialect.tables.readTable(db, 'a__Thing')
    t.match(table?.columns, [{ name: 'id' }, { name: 'version' }, { name: 'one', type: 'FRUIT_TEXT' }])
  })

  // A table with a comment that somebody has made by hand is changed in place, any other one is copied.
  for (const remark of [undefined, 'by hand'])
    t.test(
      `a table is changed with all that is in it and around it, ${remark ? 'in place' : 'as a copy'}`,
      async (t) => {
        const storage = await testStorage(t)
        const { db } = storage
        const { tables } = db.dialect
        const all = () => db.selectFrom('a__Thing').selectAll().orderBy('id').execute()
        const columns = async () =>
          Object.fromEntries(
            ((await tables.readTable(db, 'a__Thing'))?.columns ?? []).map(({ name, type, generated }) => [
              name,
              generated === undefined ? type : `computed ${type}`,
            ]),
          )
        const first = {
          name: { type: 'string' },
          count: { type: 'integer' },
          flag: { type: 'boolean' },
          size: { type: 'number' },
          label: { type: 'string', computed: '{name}: {count} {flag} {size}' },
        }
        await migrateTo(storage, [thing(first, { unique: [['name']], indexes: [['count', 'name']] })])
        t.strictSame(await migrateTo(storage, [thing(first, { unique: [['name']], indexes: [['count', 'name']] })]), [])
        await db
          .insertInto('a__Thing')
          .values([
            { name: '1', count: 5, flag: 1, size: 0.1 },
            { name: '2', count: null, flag: 0, size: 1e21 },
            { name: null, count: 7, flag: null, size: null },
          ])
          .execute()
        if (remark) await sql`COMMENT ON TABLE "a__Thing" IS 'by hand'`.execute(db)
        t.match(await all(), [{ label: '1: 5 true 0.1' }, { label: '2: false 1e+21' }, { label: ': 7' }])

        const second = {
          name: { type: 'integer' },
          count: { type: 'string' },
          flag: { type: 'string' },
          size: { type: 'number' },
          label: { type: 'string', computed: '{count}/{name}' },
          added: { type: 'boolean', default: true },
          price: { type: 'string', format: 'decimal', default: '1.50' },
        }
        const [plan] = await migrateTo(storage, [thing(second, { unique: [['name']], indexes: [['price']] })])
        t.match(
          plan?.steps.map(({ what }) => what),
          [/convert name from TEXT to INTEGER \(3 records\)/, 'make name unique', 'index price'],
        )
        t.match(await all(), [
          { id: 1, name: 1, count: '5', flag: 'true', label: '5/1', added: 1, price: '1.50' },
          { id: 2, name: 2, count: null, flag: 'false', label: '/2' },
          { id: 3, name: null, count: '7', flag: null, label: '7/' },
        ])
        t.match(await columns(), {
          id: 'INTEGER',
          name: 'INTEGER',
          label: 'computed TEXT',
          price: 'DECIMAL_TEXT',
          added: 'BOOLEAN',
        })

        const third = {
          ...second,
          flag: { type: 'boolean' },
          // What was computed is stored from now on, and what was stored is renamed.
          label: { type: 'string' },
          amount: { type: 'string', format: 'decimal', renamedFrom: 'price' },
          price: undefined,
        }
        const { price: _, ...properties } = third
        await migrateTo(storage, [thing(properties)])
        t.match(await all(), [{ flag: 1, label: '5/1', amount: '1.50' }, { flag: 0, label: '/2' }, { flag: null }])
        await db.insertInto('a__Thing').values({ name: 9, amount: '2' }).execute()
        t.match((await all()).at(-1), { id: 4, label: null }, 'ids go on')

        // What somebody has made by hand goes on filling in something, until the table is changed.
        await sql`ALTER TABLE "a__Thing" ADD COLUMN extra text DEFAULT 'x'`.execute(db)
        await migrateTo(storage, [thing({ ...properties, count: { type: 'integer' } })])
        await migrateTo(storage, [thing(properties)])
        await db.insertInto('a__Thing').values({ name: 8 }).execute()
        t.match((await all()).at(-1), { extra: null })
        await db.deleteFrom('a__Thing').where('name', '=', 8).execute()

        // A column that is there already takes over another one's values.
        const { amount: __, ...rest } = properties
        await migrateTo(storage, [thing({ ...rest, cost: { type: 'string', format: 'decimal' } })])
        await migrateTo(storage, [
          thing({ ...rest, cost: { type: 'string', format: 'decimal', renamedFrom: 'amount' } }),
        ])
        t.match(await all(), [{ cost: '1.50' }, {}, {}, { cost: '2' }])
        t.notOk('amount' in (await columns()))
        await migrateTo(storage, [thing({ ...rest, total: { type: 'number', renamedFrom: 'cost' } })])
        t.match(await all(), [{ total: 1.5 }, {}, {}, { total: 2 }])

        await t.rejects(
          migrateTo(storage, [thing({ ...rest, label: { type: 'integer' } })]),
          /"label" cannot become integer without loss in the records 1, 2/,
        )
        t.match(await columns(), { label: 'TEXT' }, 'all of a change or none of it')
        await t.rejects(
          migrateTo(storage, [thing({ ...rest, label: { type: 'string', computed: '{count}' } })]),
          /would be computed, and what the records/,
        )
        await db.updateTable('a__Thing').set({ label: null }).execute()
        await migrateTo(storage, [thing({ ...rest, label: { type: 'string', computed: '{count}!' } })])
        t.match(await all(), [{ label: '5!' }])
        await db.updateTable('a__Thing').set({ name: 1 }).execute()
        await t.rejects(
          migrateTo(storage, [thing(rest, { unique: [['name']] })]),
          /cannot be unique: the records 1, 2, 3, 4 share/,
        )
        // What has come since it was looked at.
        const model = thing({ ...rest, count: { type: 'integer' } })
        await db.updateTable('a__Thing').set({ count: 'x' }).where('id', '=', 1).execute()
        const table = await tables.readTable(db, 'a__Thing')
        await sql`COMMENT ON TABLE "a__Thing" IS 'made by hand'`.execute(db)
        await t.rejects(
          rebuilderFor(tables).apply(db, [planTable(model, table, [], tables)], [], []),
          /cannot become integer without loss in the records 1/,
        )
      },
    )

  t.test('what refers to what', async (t) => {
    const storage = await testStorage(t)
    const { db } = storage
    const other = modelOf('a.Other', { type: 'object', properties: { x: { type: 'string' } }, audit: false })
    const to = (reference: string, onDelete: string) => thing({ to: { type: 'integer', reference, onDelete } })
    // Each before the other: both at once.
    const loop = modelOf('a.Loop', {
      type: 'object',
      properties: {
        back: { type: 'integer', reference: 'a.Loop', onDelete: 'cascade' },
        on: { type: 'integer', reference: 'a.Thing' },
      },
      audit: false,
    })
    await migrateTo(storage, [loop, to('a.Other', 'clear'), other])
    await db
      .insertInto('a__Other')
      .values([{ x: 'a' }, { x: 'b' }])
      .execute()
    await db
      .insertInto('a__Thing')
      .values([{ to: 1 }, { to: 2 }])
      .execute()
    await t.rejects(db.insertInto('a__Thing').values({ to: 9 }).execute(), { kind: 'dangling' } as unknown as Error)
    await db.deleteFrom('a__Other').where('id', '=', 1).execute()
    t.match(await db.selectFrom('a__Thing').selectAll().orderBy('id').execute(), [
      { to: null, version: 1 },
      { to: 2, version: 0 },
    ])
    await migrateTo(storage, [loop, to('a.Other', 'restrict'), other])
    await t.rejects(db.deleteFrom('a__Other').execute(), { kind: 'dangling' } as unknown as Error)
    await t.rejects(
      migrateTo(storage, [loop, to('a.Loop', 'restrict'), other]),
      /"to" would refer to nothing in the records 2/,
    )
    await migrateTo(storage, [loop, thing({ x: { type: 'string' } }), other])
    // Names that mean something in a trigger.
    const named = ['found', 'old', 'new'].map((name) => [
      name,
      { type: 'integer', reference: 'a.Other', onDelete: 'clear' },
    ])
    const words = modelOf('a.Words', { type: 'object', properties: Object.fromEntries(named), audit: false })
    await migrateTo(storage, [loop, thing({ x: { type: 'string' } }), other, words])
    const made = await db.insertInto('a__Other').values({ x: 'c' }).returning('id').executeTakeFirstOrThrow()
    await db.insertInto('a__Words').values({ found: made.id, old: made.id, new: made.id }).execute()
    await db.deleteFrom('a__Other').execute()
    t.match(await db.selectFrom('a__Words').selectAll().execute(), [{ found: null, old: null, new: null, version: 1 }])
    // A text and a truth become references.
    const target = await db.insertInto('a__Other').values({ id: 1, x: 'd' }).returning('id').executeTakeFirstOrThrow()
    t.equal(target.id, 1)
    const before = modelOf('a.Later', {
      type: 'object',
      properties: { t: { type: 'string' }, b: { type: 'boolean' } },
      audit: false,
    })
    await migrateTo(storage, [other, before])
    await db.insertInto('a__Later').values({ t: '1', b: 1 }).execute()
    const refers = { type: 'integer', reference: 'a.Other' }
    const later = modelOf('a.Later', { type: 'object', properties: { t: refers, b: refers }, audit: false })
    t.match((await createMigrationPlan(db, [other, later])).plans[1], { refusals: [] })
    const nowhere = { type: 'integer', reference: 'a.Nowhere' }
    const lost = modelOf('a.Later', { type: 'object', properties: { t: nowhere }, audit: false })
    t.match((await createMigrationPlan(db, [other, lost])).plans[1]?.refusals, [
      /would refer to nothing in the records 1/,
    ])
    await migrateTo(storage, [other, later])
    t.match(await db.selectFrom('a__Later').selectAll().execute(), [{ t: 1, b: 1 }])
    const odd = modelOf('a.Later', {
      type: 'object',
      properties: { b: { type: 'string', default: 'zz', renamedFrom: 't' } },
      audit: false,
    })
    await t.rejects(migrateTo(storage, [other, odd]), /"b" cannot take over the values of "t"/)
    await db.deleteFrom('a__Later').execute()
    await db.deleteFrom('a__Other').execute()
    t.equal((await db.selectFrom('a__Thing').selectAll().execute()).length, 2, 'what is hidden holds nobody back')
    // Records of a model that is not served any more do.
    await migrateTo(storage, [thing({ x: { type: 'string' } }), other])
    await db.insertInto('a__Loop').values({ on: 1 }).execute()
    t.match((await planMigration(storage, [other])).unserved, [
      { name: 'a.Later' },
      { name: 'a.Loop', records: 1 },
      { name: 'a.Thing' },
      { name: 'a.Words' },
    ])
  })

  t.test('names and numbers of columns have bounds here', async (t) => {
    const storage = await testStorage(t)
    const long = modelOf(`a.${'L'.repeat(61)}`, { type: 'object', properties: { x: { type: 'string' } } })
    await t.rejects(migrateTo(storage, [long]), /"a__L+" has more than 63 characters. Shorten/)
    const near = modelOf(`a.${'N'.repeat(41)}`, {
      type: 'object',
      properties: { fieldname: { type: 'integer', reference: 'a.Thing', onDelete: 'clear' } },
    })
    await t.rejects(
      migrateTo(storage, [thing({ x: { type: 'string' } }), near]),
      /^a\.N+: "a__N+__fieldname__unserved" has more than 63 characters/,
    )
    const wide = (letter: string) =>
      thing(Object.fromEntries(Array.from({ length: 900 }, (_, nth) => [`${letter}${nth}`, { type: 'string' }])))
    await migrateTo(storage, [wide('a')])
    await t.rejects(migrateTo(storage, [wide('b')]), /the table would have 1802, and at most 1600 are possible/)
  })
}
