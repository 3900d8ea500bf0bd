import t from 'tap'
import { createAccess } from '../../src/filters/access.ts'
import type { Models } from '../../src/model/model.ts'
import { createStatementCache } from '../../src/records/cached-statements.ts'
import { KnownTotals } from '../../src/records/find/known-totals.ts'
import { createForgetter } from '../../src/records/history/forget.ts'
import { createRecords } from '../../src/records/records.ts'
import { UserLimits } from '../../src/records/user-limits.ts'
import { Cursors } from '../../src/requests/cursor.ts'
import { type Storage, StorageFault } from '../../src/storage/storage.ts'
import { migrateTo, modelOf, testStorage } from '../helper.ts'

const createContext = (storage: Storage, models: Models) => ({
  storage,
  models,
  access: createAccess(models, storage.db),
  cursors: new Cursors('secret'),
  totals: new KnownTotals(storage),
  limits: new UserLimits(),
  findSeconds: 1,
  exportSeconds: 1,
  maxRecordLength: 1_000_000,
  advise: () => {},
})

t.test('who may not reach anything finds nothing, even past the plugins', async (t) => {
  const storage = await testStorage(t)
  const model = modelOf('a.Closed', {
    type: 'object',
    properties: { x: { type: 'string' } },
    access: { read: [], create: ['*'], update: [], delete: [] },
  })
  await migrateTo(storage, [model])
  const records = createRecords(createContext(storage, new Map()), model)
  const somebody = { username: 's', roles: [] }
  await records.create({ x: 'hidden' }, somebody)
  t.strictSame(await records.find({ offset: 0, limit: 10, sort: [], expand: [] }, somebody), {
    offset: 0,
    total: 0,
    data: [],
  })
  await t.rejects(records.read(1, somebody, { expand: [] }), { code: 'RECORD_NOT_FOUND' })
  await t.rejects(records.update(1, { version: 0, x: 'y' }, somebody), { code: 'RECORD_NOT_FOUND' })
  await t.rejects(records.remove(1, undefined, somebody), { code: 'RECORD_NOT_FOUND' })
})

t.test('a record that is made in the same group, but later, was not there', async (t) => {
  const storage = await testStorage(t)
  const one = modelOf('a.One', { type: 'object', properties: { x: { type: 'string' } } })
  const two = modelOf('a.Two', { type: 'object', properties: { one: { type: 'integer', reference: 'a.One' } } })
  await migrateTo(storage, [one, two])
  const models = new Map([one, two].map((model) => [model.name, model]))
  const context = createContext(storage, models)
  const somebody = { username: 's', roles: [] }
  const early = createRecords(context, two).create({ one: 1 }, somebody)
  const late = createRecords(context, one).create({ x: 'late' }, somebody)
  await t.rejects(early, {
    code: 'REFERENCE_VIOLATION',
    message: /was not there when this was written/,
  })
  t.match(await late, { id: 1 })
})

t.test('a remembered statement holds no values', async (t) => {
  const { db } = await testStorage(t)
  const prepared = createStatementCache<number>()
  t.throws(() => prepared('x', 1, () => db.selectFrom('x').where('id', '=', 5)), /binds a value: select from "x"/)
})

t.test('what is forgotten is forgotten, or it is told why not', async (t) => {
  const storage = { write: () => Promise.reject(new StorageFault('full', 'no room')) } as unknown as Storage
  const model = modelOf('a.One', { type: 'object', properties: { x: { type: 'string' } } })
  let writes = 0
  const late = { write: async () => (writes++ === 0 ? [[]] : storage.write({ steps: [] })) } as unknown as Storage
  const past = { notFoundFailure: () => new Error('not there') } as never
  for (const one of [storage, late])
    await t.rejects(createForgetter({ storage: one } as never, model, past)(1, { username: 'x', roles: [] }), /no room/)
})

t.test('an expansion ends in time, however much a record leads to', async (t) => {
  const storage = await testStorage(t)
  const page = modelOf('a.Page', { type: 'object', properties: { text: { type: 'string' } } })
  const links = { type: 'array', items: { type: 'integer', reference: 'a.Page' } }
  const book = modelOf('a.Book', { type: 'object', properties: { pages: links } })
  await migrateTo(storage, [page, book])
  const models = new Map([page, book].map((model) => [model.name, model]))
  const context = { ...createContext(storage, models), findSeconds: 0 }
  const somebody = { username: 's', roles: [] }
  const pages = createRecords(context, page)
  for (let nth = 0; nth < 3; nth++) await pages.create({ text: 'x'.repeat(900_000) }, somebody)
  const books = createRecords(context, book)
  await books.create({ pages: [1, 2, 3] }, somebody)
  await t.rejects(books.read(1, somebody, { expand: ['pages'] }), { code: 'FIND_TOO_SLOW' })
})
