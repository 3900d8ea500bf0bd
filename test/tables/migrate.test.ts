import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { sql } from 'kysely'
import t from 'tap'
import type { Model } from '../../src/model/model.ts'
import { readTable } from '../../src/storage/sqlite/catalog.ts'
import { databaseFile } from '../../src/storage/sqlite/connections.ts'
import type { Database } from '../../src/storage/storage.ts'
import { migrate, planMigration } from '../../src/tables/migrate.ts'
import { CONTACT, migrateTo, modelOf, THING, testStorage } from '../helper.ts'
import { freshStorage } from '../storage/fresh-storage.ts'

const contact = (changes: object = {}, more: object = {}): Model =>
  modelOf('contacts.Contact', { ...CONTACT, ...more, properties: { ...CONTACT.properties, ...changes } })
const simple = (name: string, properties: object, more: object = {}) =>
  modelOf(name, { type: 'object', properties, audit: false, ...more })
const stepsOf = (plans: { steps: { what: string }[] }[]) => plans.flatMap(({ steps }) => steps.map(({ what }) => what))
const all = (db: Database, table: string) => db.selectFrom(table).selectAll().orderBy('id').execute()

t.test('a new model gets a table that a person can read', async (t) => {
  const { storage } = await freshStorage()
  const { db } = storage
  const models = [contact(), modelOf('test.Thing', THING)]
  t.match(stepsOf(await migrateTo(storage, models)).slice(0, 2), ['create the table', 'make email unique'])
  const table = await readTable(db, 'test__Thing')
  t.match(Object.fromEntries(table?.columns.map(({ name, type }) => [name, type]) ?? []), {
    id: 'INTEGER',
    version: 'INTEGER',
    text: 'TEXT',
    count: 'INTEGER',
    ratio: 'REAL',
    done: 'BOOLEAN',
    tags: 'ARRAY_TEXT',
    place: 'OBJECT_TEXT',
    day: 'DATE_TEXT',
    moment: 'DATETIME_TEXT',
    hour: 'TIME_TEXT',
    price: 'DECIMAL_TEXT',
  })
  t.match(table, {
    rows: 0,
    indexes: [
      { name: 'test__Thing__text__count__unique' },
      { name: 'test__Thing__text__count__sort1', sql: /\("text__sort1", "count"\)$/ },
      { name: 'test__Thing__day__count__index' },
    ],
  })
  t.strictSame(await migrateTo(storage, models), [], 'a second time there is nothing to do')
  const history = await db.selectFrom('dossier_migrations').selectAll().execute()
  t.match(history, [
    { model: 'contacts.Contact', fileHash: 'test', steps: /create the table/, at: /Z$/ },
    { model: 'test.Thing' },
  ])
})

t.test('new fields, new and dropped indexes', async (t) => {
  const { storage } = await freshStorage()
  const { db } = storage
  await migrateTo(storage, [contact()])
  await sql`INSERT INTO "contacts__Contact" (firstName) VALUES ('Ada')`.execute(db)
  await sql`CREATE INDEX by_hand ON "contacts__Contact" (lastName)`.execute(db)
  const changed = contact(
    {
      email: { type: 'string', format: 'email' },
      lastName: { type: 'string', index: true },
      note: { type: 'string', default: "it's" },
      level: { type: 'integer', default: 3 },
      both: { type: 'string', computed: '{note}!' },
    },
    { required: ['firstName', 'level'] },
  )
  t.strictSame(stepsOf(await migrateTo(storage, [changed])), [
    'add the column note',
    'fill in the default of note (1 records)',
    'add the column level',
    'fill in the default of level (1 records)',
    'add the column both',
    'sort lastName by folded text (1 records)',
    'drop the index contacts__Contact__email__unique',
    'drop the index contacts__Contact__email__sort1',
    'index lastName',
  ])
  t.match(await all(db, 'contacts__Contact'), [{ note: "it's", level: 3, both: "it's!" }])
  t.ok(
    (await readTable(db, 'contacts__Contact'))?.indexes.some(({ name }) => name === 'by_hand'),
    'an index made by hand stays',
  )
})

t.test('a field that is gone stays hidden, and is back when the field is', async (t) => {
  const { storage } = await freshStorage()
  const { db } = storage
  await migrateTo(storage, [contact()])
  await sql`INSERT INTO "contacts__Contact" (firstName, email) VALUES ('Ada', 'a@b.c')`.execute(db)
  const { email, ...rest } = CONTACT.properties
  const without = modelOf('contacts.Contact', { ...CONTACT, properties: rest, list: ['fullName'] })
  t.match(await planMigration(storage, [without]), {
    plans: [{ hidden: [{ name: 'email', type: 'TEXT', isSecret: false }] }],
  })
  await migrateTo(storage, [without])
  await migrateTo(storage, [contact()])
  t.match(await all(db, 'contacts__Contact'), [{ email: 'a@b.c' }])
})

t.test('renamed', async (t) => {
  const { storage } = await freshStorage()
  const { db } = storage
  await migrateTo(storage, [
    simple('a.B', { old: { type: 'string', index: true }, sum: { type: 'string', computed: '{old}!' } }),
  ])
  await sql`INSERT INTO "a__B" (old) VALUES ('kept')`.execute(db)
  const model = simple('a.B', {
    fresh: { type: 'string', renamedFrom: 'old', index: true },
    sum: { type: 'string', computed: '{fresh}!' },
  })
  t.match(stepsOf(await migrateTo(storage, [model])), [/^rename old to fresh/, /recompute sum/, /index fresh/])
  t.match(await all(db, 'a__B'), [{ fresh: 'kept', sum: 'kept!' }])
  t.strictSame(await migrateTo(storage, [model]), [], 'once')
  const retyped = simple('a.B', { last: { type: 'string', renamedFrom: 'fresh', format: 'decimal' } })
  await t.rejects(migrateTo(storage, [retyped]), /"last" cannot become decimal without loss in the records 1\./)
  await sql`UPDATE "a__B" SET fresh = '1.5'`.execute(db)
  await migrateTo(storage, [
    simple('a.B', { last: { type: 'string', renamedFrom: 'fresh', format: 'decimal', unique: true } }),
  ])
  t.match(await all(db, 'a__B'), [{ last: '1.5' }], 'renamed and converted at once')
  const other = simple('a.B', { other: { type: 'string', renamedFrom: 'nothing' } })
  t.match(stepsOf(await migrateTo(storage, [other])).at(0), /add the column other/, 'nothing to rename')
})

t.test('another type: every value converts without loss, or nothing happens', async (t) => {
  const text = { type: 'string' }
  const scenarios: [from: object, values: unknown[], to: object, expected: unknown[] | RegExp][] = [
    [text, ['1', '-20', null], { type: 'integer' }, [1, -20, null]],
    [
      text,
      ['1', '007', '1.5', ' 1'],
      { type: 'integer' },
      /cannot become integer without loss in the records 2, 3, 4\./,
    ],
    [text, ['1.50', '-3'], { type: 'number' }, [1.5, -3]],
    [text, ['0.10000000000000000001', 'x', '1e5'], { type: 'number' }, /records 1, 2, 3\./],
    [text, ['true', 'false'], { type: 'boolean' }, [1, 0]],
    [text, ['yes'], { type: 'boolean' }, /boolean/],
    [text, ['[1]'], { type: 'array' }, ['[1]']],
    [text, ['{}', '[]', 'x', 'null'], { type: 'object' }, /object without loss in the records 2, 3, 4\./],
    [text, ['2024-01-01T01:00:00+01:00'], { type: 'string', format: 'date-time' }, ['2024-01-01T00:00:00.000Z']],
    [text, ['2024-01-01', '2024-02-30'], { type: 'string', format: 'date' }, /date without loss in the records 2\./],
    [{ type: 'integer' }, [1, 0, 7], text, ['1', '0', '7']],
    [{ type: 'integer' }, [1, 7], { type: 'boolean' }, /boolean without loss in the records 2\./],
    [{ type: 'integer' }, [5], { type: 'number' }, [5]],
    [{ type: 'integer' }, [5], { type: 'string', format: 'decimal' }, ['5']],
    [{ type: 'integer' }, [5], { type: 'array' }, /array/],
    [{ type: 'number' }, [5, 0.5], { type: 'integer' }, /records 2\./],
    [{ type: 'number' }, [5, 0.5], text, ['5', '0.5']],
    [{ type: 'boolean' }, [1, 0], text, ['true', 'false']],
    [{ type: 'boolean' }, [1, 0], { type: 'integer' }, [1, 0]],
    [{ type: 'string', format: 'decimal' }, ['1.50'], { type: 'number' }, [1.5]],
    [
      { type: 'string', format: 'date-time' },
      ['2024-01-01T00:00:00.000Z'],
      { type: 'string', format: 'date' },
      ['2024-01-01'],
    ],
    [{ type: 'string', format: 'date-time' }, ['2024-01-01T00:00:01.000Z'], { type: 'string', format: 'date' }, /date/],
    [{ type: 'array' }, ['[1,2]'], text, ['[1,2]']],
    [{ type: 'array' }, ['[1,2]'], { type: 'object' }, /object/],
    [
      text,
      Array.from({ length: 12 }, () => 'x'),
      { type: 'integer' },
      /records 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and more\./,
    ],
  ]
  const { storage } = await freshStorage()
  const { db } = storage
  for (const [index, [from, values, to, expected]] of scenarios.entries()) {
    const table = `a__B${index}`
    await migrateTo(storage, [simple(`a.B${index}`, { x: from })])
    for (const x of values) await db.insertInto(table).values({ x }).execute()
    const change = migrateTo(storage, [simple(`a.B${index}`, { x: to })])
    const title = `${JSON.stringify(from)} to ${JSON.stringify(to)}`
    if (expected instanceof RegExp) {
      await t.rejects(change, { name: 'Refused', message: expected }, title)
      t.strictSame(
        (await all(db, table)).map(({ x }) => x),
        values,
        'nothing has changed',
      )
    } else {
      t.match(stepsOf(await change), [new RegExp(`convert x from .*\\(${values.length} records\\)`)])
      t.strictSame(
        (await all(db, table)).map(({ x }) => x),
        expected,
        title,
      )
    }
  }
})

t.test('a rebuilt table keeps everything that was in it and around it', async (t) => {
  const { storage } = await freshStorage()
  const { db } = storage
  const parent = (type: string) => simple('a.Parent', { x: { type }, gone: { type: 'string' } })
  const child = simple('a.Child', { to: { type: 'integer', reference: 'a.Parent', onDelete: 'cascade' } })
  const watcher = simple('a.Watcher', { to: { type: 'integer', reference: 'a.Parent', onDelete: 'clear' } })
  await migrateTo(storage, [parent('string'), child, watcher])
  for (const x of ['1', '2', '3'])
    await db
      .insertInto('a__Parent')
      .values({ x, gone: `g${x}`, version: 4 })
      .execute()
  for (const to of [1, 2]) await db.insertInto('a__Child').values({ to }).execute()
  await db.insertInto('a__Watcher').values({ to: 1 }).execute()
  await db.deleteFrom('a__Parent').where('id', '=', 3).execute()
  await sql`CREATE INDEX by_hand ON "a__Parent" (gone)`.execute(db)

  await migrateTo(storage, [simple('a.Parent', { x: { type: 'integer', index: true } }), child, watcher])
  t.match(
    await all(db, 'a__Parent'),
    [
      { id: 1, version: 4, x: 1, gone: 'g1' },
      { id: 2, x: 2, gone: 'g2' },
    ],
    'hidden columns too',
  )
  t.equal((await all(db, 'a__Child')).length, 2, 'no cascade while the table was made anew')
  t.ok((await readTable(db, 'a__Parent'))?.indexes.some(({ name }) => name === 'by_hand'))
  const { id } = (await db.insertInto('a__Parent').values({ x: 9 }).returning('id').executeTakeFirstOrThrow()) as {
    id: number
  }
  t.equal(id, 4, 'no id is used again')
  await db.deleteFrom('a__Parent').where('id', '=', 1).execute()
  t.match(await all(db, 'a__Child'), [{ to: 2 }], 'foreign keys hold again')
  t.match(await all(db, 'a__Watcher'), [{ to: null, version: 1 }], 'and so do the triggers')
})

t.test('an empty table, and a large one', async (t) => {
  const { storage } = await freshStorage()
  const { db } = storage
  const model = (type: string) => simple('a.B', { x: { type } })
  await migrateTo(storage, [model('string')])
  await migrateTo(storage, [model('integer')])
  for (let i = 0; i < 5; i++)
    await db
      .insertInto('a__B')
      .values(Array.from({ length: 500 }, (_, j) => ({ x: i * 500 + j })))
      .execute()
  await migrateTo(storage, [model('string')])
  const rows = await all(db, 'a__B')
  t.equal(rows.length, 2500)
  t.ok(rows.every(({ id, x }) => x === String((id as number) - 1)))
})

t.test('changed references', async (t) => {
  const { storage } = await freshStorage()
  const { db } = storage
  const target = (name: string) => simple(name, { x: { type: 'string' } })
  const from = (reference?: string, onDelete?: string) =>
    simple('a.From', { to: { type: 'integer', ...(reference && { reference }), ...(onDelete && { onDelete }) } })
  const models = (model: Model) => [target('a.One'), target('a.Two'), model]
  await migrateTo(storage, models(from()))
  await db.insertInto('a__One').values({ x: 'a' }).execute()
  await db.insertInto('a__From').values({ to: 1 }).execute()
  await db.insertInto('a__From').values({ to: 7 }).execute()
  await t.rejects(migrateTo(storage, models(from('a.One'))), /"to" would refer to nothing in the records 2\./)
  await db.deleteFrom('a__From').where('id', '=', 2).execute()
  t.match(stepsOf(await migrateTo(storage, models(from('a.One')))), [/change what to refers to/, 'index to'])
  await t.rejects(db.deleteFrom('a__One').execute(), /FOREIGN KEY/)
  await migrateTo(storage, models(from('a.One', 'clear')))
  await t.rejects(migrateTo(storage, models(from('a.Two'))), /"to" would refer to nothing/)
  await migrateTo(storage, models(simple('a.From', { other: { type: 'string' } })))
  await db.deleteFrom('a__One').execute()
  t.match(await all(db, 'a__From'), [{ to: 1 }], 'a field that is gone holds nobody back')
})

t.test('computed and stored', async (t) => {
  const { storage } = await freshStorage()
  const { db } = storage
  const model = (full: object) => simple('a.B', { a: { type: 'string' }, full: { type: 'string', ...full } })
  await migrateTo(storage, [model({ computed: '{a}!' })])
  await db.insertInto('a__B').values({ a: 'x' }).execute()
  t.match(stepsOf(await migrateTo(storage, [model({ computed: '{a}?' })])), [/recompute full/])
  t.match(await all(db, 'a__B'), [{ full: 'x?' }])
  t.match(stepsOf(await migrateTo(storage, [model({})])), [/store full, which was computed/])
  t.match(await all(db, 'a__B'), [{ full: 'x?' }], 'what was computed last is kept')
  await t.rejects(
    migrateTo(storage, [model({ computed: '{a}' })]),
    /"full" would be computed, and what the records 1 have stored there lost/,
  )
  await db.updateTable('a__B').set({ full: null }).execute()
  await migrateTo(storage, [model({ computed: '{a}' })])
  t.match(await all(db, 'a__B'), [{ full: 'x' }])
})

t.test('what is refused, with nothing changed', async (t) => {
  const { storage } = await freshStorage()
  const { db } = storage
  await migrateTo(storage, [contact()])
  for (const name of ['Ada', 'Ada', 'Bob'])
    await sql`INSERT INTO "contacts__Contact" (firstName, lastName) VALUES (${name}, 'L')`.execute(db)
  const fresh = simple('a.Fresh', { x: { type: 'string' } })
  const refused: [Model, RegExp][] = [
    [
      contact({ age: { type: 'integer' } }, { required: ['age'] }),
      /contacts\.Contact: The new field "age" is required, but the 3 .*"default"/,
    ],
    [
      contact({ firstName: { type: 'string', unique: true } }),
      /"firstName" cannot be unique: the records 1, 2 share a value/,
    ],
    [
      contact({}, { unique: [['firstName', 'lastName']] }),
      /"firstName", "lastName" cannot be unique: the records 1, 2/,
    ],
    [contact({ age: { type: 'integer', default: 1, unique: true } }), /"age" cannot be unique: the records 1, 2, 3/],
    [
      contact({ twice: { type: 'string', computed: '{firstName}', unique: true } }),
      /"twice" cannot be unique: the records 1, 2 share a value/,
    ],
    [simple('contacts.Contact', { EMAIL: { type: 'string' } }), /only in case/],
  ]
  for (const [model, message] of refused) {
    await t.rejects(migrateTo(storage, [fresh, model]), { name: 'Refused', message })
    t.equal(await readTable(db, 'a__Fresh'), undefined, 'all of a change or none of it')
  }
  await migrateTo(storage, [contact({ nick: { type: 'string', unique: true }, firstName: { type: 'string' } })])
  t.ok((await planMigration(storage, [contact()])).plans.every(({ refusals }) => refusals.length === 0))
})

t.test('references that were broken by hand are found before the commit', async (t) => {
  const { storage, folder } = await freshStorage()
  const { db } = storage
  const one = simple('a.One', { x: { type: 'string' } })
  const two = (type: string) => simple('a.Two', { x: { type }, to: { type: 'integer', reference: 'a.One' } })
  await migrateTo(storage, [one, two('string')])
  const other = new Sqlite(databaseFile(join(folder, 'data')))
  other.exec(`PRAGMA foreign_keys = off; INSERT INTO "a__Two" (x, "to") VALUES ('1', 9)`)
  other.close()
  await t.rejects(migrateTo(storage, [one, two('integer')]), {
    name: 'Refused',
    message: /a.Two 1 would refer to a a__One that does not exist/,
  })
  t.match(await all(db, 'a__Two'), [{ x: '1', to: 9 }])
})

t.test('of two processes one migrates and the other waits', async (t) => {
  const { storage: first, folder } = await freshStorage()
  const second = await testStorage(t, folder)
  await sql`PRAGMA busy_timeout = 1`.execute(second.db)
  const plans = await Promise.all([migrateTo(first, [contact()]), migrateTo(second, [contact()])])
  t.strictSame(plans.map((done) => done.length).sort(), [0, 1])
  const other = new Sqlite(databaseFile(join(folder, 'data')))
  t.teardown(() => other.close())
  other.exec('BEGIN IMMEDIATE')
  await t.rejects(
    migrate(second, [contact()], { busyTimeoutMs: -1 }),
    { name: 'StorageFault', message: /Another process is changing the database/ },
    'patience has an end',
  )
  const held = new Promise((resolve) => setTimeout(resolve, 300)).then(() => other.exec('COMMIT'))
  t.equal((await migrateTo(second, [contact({ note: { type: 'string' } })])).length, 1, 'as long as it takes')
  await held
  await t.rejects(
    migrateTo(
      second,
      [simple('a.B', { x: { type: 'string' } }, { nameField: 'x' })].map((model) => ({ ...model, name: 'a."B' })),
    ),
    { code: 'SQLITE_ERROR' },
  )
})
