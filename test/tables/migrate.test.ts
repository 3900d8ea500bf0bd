import { sql } from 'kysely'
import t from 'tap'
import type { Model } from '../../src/model/model.ts'
import { migrate } from '../../src/tables/migrate.ts'
import { readTable } from '../../src/tables/state.ts'
import { CONTACT, modelOf, THING, testDatabase } from '../helper.ts'

const contact = (changes: object = {}, more: object = {}): Model =>
  modelOf('contacts.Contact', { ...CONTACT, ...more, properties: { ...CONTACT.properties, ...changes } })

t.test('a new model gets a table that a person can read', async (t) => {
  const db = await testDatabase(t)
  const plans = await migrate(db, [contact(), modelOf('test.Thing', THING)])
  t.match(plans, [
    { model: 'contacts.Contact', steps: [{ what: 'create the table' }, { what: 'make unique email' }] },
    {},
  ])
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
  t.match(table, { hasRows: false, indexes: ['test__Thing__text__count__unique', 'test__Thing__day__count__index'] })
  t.strictSame(await migrate(db, [contact(), modelOf('test.Thing', THING)]), [], 'a second time there is nothing to do')
})

t.test('new fields, new and dropped indexes', async (t) => {
  const db = await testDatabase(t)
  await migrate(db, [contact()])
  await sql`INSERT INTO contacts__Contact (firstName) VALUES ('Ada')`.execute(db)
  await sql`CREATE INDEX by_hand ON contacts__Contact (lastName)`.execute(db)
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
  const plans = await migrate(db, [changed])
  t.strictSame(
    plans[0]?.steps.map(({ what }) => what),
    [
      'add the column note',
      'add the column level',
      'add the column both',
      'drop the index contacts__Contact__email__unique',
      'index lastName',
    ],
  )
  t.match(await db.selectFrom('contacts__Contact').selectAll().executeTakeFirst(), {
    note: "it's",
    level: 3,
    both: "it's!",
  })
  t.ok((await readTable(db, 'contacts__Contact'))?.indexes.includes('by_hand'), 'an index made by hand stays')
})

t.test('what is refused, with nothing changed', async (t) => {
  const db = await testDatabase(t)
  await migrate(db, [contact()])
  await sql`INSERT INTO contacts__Contact (firstName) VALUES ('Ada')`.execute(db)
  const fresh = modelOf('a.Fresh', { type: 'object', properties: { x: { type: 'string' } } })
  const refused: [Model, RegExp][] = [
    [
      contact({ age: { type: 'integer' } }, { required: ['age'] }),
      /contacts\.Contact: The new field "age" is required.*"default"/,
    ],
    [contact({ email: { type: 'integer' } }), /"email" was TEXT and would become INTEGER/],
    [
      contact({
        lastName: { type: 'string', computed: '{firstName}' },
        fullName: { type: 'string', computed: '{firstName}' },
      }),
      /"lastName" was TEXT/,
    ],
    [contact({ fullName: { type: 'string', computed: '{lastName}' } }), /"fullName" has another template/],
    [modelOf('contacts.Contact', { type: 'object', properties: { EMAIL: { type: 'string' } } }), /only in case/],
  ]
  for (const [model, message] of refused) {
    await t.rejects(migrate(db, [fresh, model]), { name: 'MigrationRefused', message })
    t.equal(await readTable(db, 'a__Fresh'), undefined, 'all of a change or none of it')
  }
})

t.test('references: their triggers follow, their targets do not change yet', async (t) => {
  const db = await testDatabase(t)
  const refersTo = (to: string, onDelete: string, type = 'integer') =>
    modelOf('a.From', { type: 'object', properties: { ref: { type, ...(to && { reference: to, onDelete }) } } })
  const plain = (name: string) => modelOf(name, { type: 'object', properties: { x: { type: 'string' } } })
  // a.From.More begins like a.From: their triggers must not be mistaken for each other's.
  const more = modelOf('a.From.More', {
    type: 'object',
    properties: { ref: { type: 'integer', reference: 'a.To', onDelete: 'clear' } },
  })
  const models = [plain('a.To'), refersTo('a.To', 'clear'), more]
  await migrate(db, models)
  t.strictSame(await migrate(db, models), [])
  t.strictSame(
    (await readTable(db, 'a__From'))?.triggers.map(({ name }) => name),
    ['a__From__ref__clear'],
  )
  await t.rejects(migrate(db, [plain('a.To'), refersTo('a.To', 'cascade')]), /refers to something else/)
  const gone = modelOf('a.From', { type: 'object', properties: { y: { type: 'string' } } })
  const plans = await migrate(db, [plain('a.To'), gone])
  t.match(plans[0]?.steps, [
    { what: 'add the column y' },
    { what: 'drop the index a__From__ref__index' },
    { what: 'no longer clear a__From__ref__clear' },
  ])
})

t.test('a field that is gone stays hidden, and is back when the field is', async (t) => {
  const db = await testDatabase(t)
  await migrate(db, [contact()])
  await sql`INSERT INTO contacts__Contact (firstName, email) VALUES ('Ada', 'a@b.c')`.execute(db)
  const { email, ...rest } = CONTACT.properties
  await migrate(db, [modelOf('contacts.Contact', { ...CONTACT, properties: rest, list: ['fullName'] })])
  await migrate(db, [contact()])
  t.match(await db.selectFrom('contacts__Contact').select('email').execute(), [{ email: 'a@b.c' }])
})
