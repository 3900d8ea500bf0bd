import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import fc from 'fast-check'
import { sql } from 'kysely'
import t from 'tap'
import { databaseFile } from '../../src/storage/sqlite/connections.ts'
import { defineJob, type Storage } from '../../src/storage/storage.ts'
import type { applyMigration } from '../../src/tables/apply.ts'
import { migrate, planMigration } from '../../src/tables/migrate.ts'
import { MAX_ROWS_TO_FILL } from '../../src/tables/plan.ts'
import type { Draft } from '../../src/tables/rebuild/draft.ts'
import type { beginDrafts, fillPortion, refuseDuplicates } from '../../src/tables/rebuild/draft-jobs.ts'
import { makeFolder, migrateTo, modelOf, startApp, testStorage, writeModel } from '../helper.ts'
import { freshStorage } from '../storage/fresh-storage.ts'

const DRAFTS = import.meta.resolve('../../src/tables/rebuild/draft-jobs.ts')
const BEGIN = defineJob<Parameters<typeof beginDrafts>[1], Awaited<ReturnType<typeof beginDrafts>>>(
  DRAFTS,
  'beginDrafts',
)
const FILL = defineJob<Parameters<typeof fillPortion>[1], Awaited<ReturnType<typeof fillPortion>>>(
  DRAFTS,
  'fillPortion',
)
const REFUSE_DUPLICATES = defineJob<Parameters<typeof refuseDuplicates>[1], void>(DRAFTS, 'refuseDuplicates')
const CARRY_OUT = defineJob<Parameters<typeof applyMigration>[1], unknown>(
  import.meta.resolve('../../src/tables/apply.ts'),
  'applyMigration',
)

const company = modelOf('a.Company', { type: 'object', properties: { name: { type: 'string' } }, audit: false })
const thing = (type: string, onDelete: string, more: object = {}) =>
  modelOf('a.Thing', {
    type: 'object',
    properties: {
      code: { type, unique: true },
      company: { type: 'integer', reference: 'a.Company', onDelete },
      parent: { type: 'integer', reference: 'a.Thing', onDelete: 'clear' },
      ...more,
    },
    audit: false,
  })

const leftOver = async (storage: Storage) => {
  const { rows } = await sql<{ name: string }>`
    SELECT name FROM sqlite_schema WHERE name GLOB 'dossier_draft__*' OR name GLOB '*__draft'`.execute(storage.db)
  const marks = await storage.db.selectFrom('dossier_marks').selectAll().execute()
  const drafts = await storage.db.selectFrom('dossier_drafts').selectAll().execute()
  return [...rows, ...marks, ...drafts]
}

/**
 * Any change of the tables that a client, another process or a shell can make. Ids and codes are few, so that they
 * meet.
 */
const id = fc.integer({ min: 1, max: 12 })
const code = fc.integer({ min: 1, max: 20 }).map(String)
const REPLACE = 'REPLACE INTO a__Thing (id, code) VALUES (?, ?)'
const change = fc.oneof(
  fc.record({
    sql: fc.constant('INSERT OR IGNORE INTO a__Thing (code, company) VALUES (?, ?)'),
    with: fc.tuple(code, id),
  }),
  fc.record({ sql: fc.constant('UPDATE OR IGNORE a__Thing SET code = ? WHERE id = ?'), with: fc.tuple(code, id) }),
  fc.record({ sql: fc.constant('UPDATE OR IGNORE a__Thing SET parent = ? WHERE id = ?'), with: fc.tuple(id, id) }),
  fc.record({ sql: fc.constant('UPDATE OR IGNORE a__Thing SET company = ? WHERE id = ?'), with: fc.tuple(id, id) }),
  fc.record({ sql: fc.constant('UPDATE a__Thing SET code = NULL WHERE id = ?'), with: fc.tuple(id) }),
  fc.record({ sql: fc.constant('DELETE FROM a__Thing WHERE id = ?'), with: fc.tuple(id) }),
  fc.record({ sql: fc.constant('DELETE FROM a__Company WHERE id = ?'), with: fc.tuple(id) }),
  fc.record({ sql: fc.constant(REPLACE), with: fc.tuple(id, code) }),
  fc.record({ sql: fc.constant('fill'), with: fc.tuple(fc.integer({ min: 1, max: 5 })) }),
)

t.test('whatever changes while a table is made anew, it ends as if it had been made at once', async (t) => {
  const { storage, folder } = await freshStorage()
  const shell = new Sqlite(databaseFile(join(folder, 'data')))
  t.teardown(() => shell.close())
  const things = (code: string) => shell.prepare(`SELECT id, version, ${code}, company, parent FROM a__Thing`).all()
  const play = async (changes: { sql: string; with: (string | number)[] }[], draft: Draft) => {
    for (const { sql: text, with: values } of changes)
      if (text === 'fill') await storage.runWriteJob(FILL, { draft, rows: values[0] as number })
      else
        try {
          shell.prepare(text).run(values)
        } catch (error) {
          // As the table itself would have it: of something that is referred to, or that is not there.
          t.match(error, { message: /FOREIGN KEY constraint failed/ })
        }
  }
  const onDelete = fc.constantFrom('cascade', 'clear', 'restrict')
  // Takes the code of another record, which is gone then.
  const taking: [{ sql: string; with: [number] | [number, string] }[], string] = [
    [
      { sql: 'fill', with: [5] },
      { sql: REPLACE, with: [1, '2'] },
    ],
    'clear',
  ]
  let runs = 0
  let restarts = 0
  await fc.assert(
    fc.asyncProperty(fc.array(change, { maxLength: 40 }), onDelete, async (changes, onDelete) => {
      runs++
      shell.exec('PRAGMA foreign_keys = off')
      for (const table of ['a__Thing', 'a__Company']) shell.exec(`DROP TABLE IF EXISTS ${table}`)
      shell.exec('PRAGMA foreign_keys = on')
      await migrateTo(storage, [company, thing('string', 'restrict')])
      for (let n = 1; n <= 12; n++) shell.exec(`INSERT INTO a__Company (name) VALUES ('c${n}')`)
      for (let n = 1; n <= 8; n++) shell.exec(`INSERT INTO a__Thing (code, company) VALUES ('${n}', ${n})`)
      const models = [company, thing('integer', onDelete)]
      const [draft] = (await storage.runWriteJob(BEGIN, { models, token: 'mine' })) as [Draft]
      let before: unknown
      try {
        await play(changes, draft)
        before = things('CAST(code AS INTEGER) AS code')
        await storage.runWriteJob(CARRY_OUT, { models, miscounted: [], built: [], drafts: [draft] })
      } catch (error) {
        // A REPLACE deletes what is in its way and no trigger hears of it: that is noticed, and the change begins
        // again.
        t.ok(changes.some(({ sql: text }) => text.startsWith('REPLACE')))
        t.match(error, { kind: /stale|taken/ })
        shell.exec('UPDATE dossier_drafts SET touched = 0')
        restarts++
        before = things('CAST(code AS INTEGER) AS code')
        await migrateTo(storage, models)
      }
      t.strictSame(things('code'), before)
      t.strictSame(await leftOver(storage), [])
      t.strictSame(shell.pragma('foreign_key_check'), [])
    }),
    { numRuns: 24, seed: 11, examples: [taking as never] },
  )
  t.ok(restarts > 0 && runs > restarts, `${restarts} of ${runs} had to begin again`)
})

const fillTable = (storage: Storage, rows: number) =>
  sql`
    INSERT INTO a__Thing (code) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${rows})
    SELECT CAST(i AS TEXT) FROM n`.execute(storage.db)

t.test('while a table is made anew, all others are written to, and so is the table itself', async (t) => {
  const { storage } = await freshStorage()
  await migrateTo(storage, [company, thing('string', 'clear')])
  await fillTable(storage, 3000)
  const percents: number[] = []
  const written: Promise<unknown>[] = []
  let isOver = false
  const onProgress = (model: string, percent: number) => {
    t.equal(model, 'a.Thing')
    percents.push(percent)
    const nth = percents.length
    const code = String(5000 + nth)
    for (const query of [
      storage.db.insertInto('a__Company').values({ name: code }),
      storage.db.updateTable('a__Thing').set({ code }).where('id', '=', nth),
      storage.db.insertInto('a__Thing').values({ code: String(9000 + nth) }),
    ])
      written.push(query.execute().then(() => t.equal(isOver, percent === 100, 'before the last step')))
  }
  await migrate(storage, [company, thing('integer', 'clear')], { onProgress, swap: () => (isOver = true) })
  await Promise.all(written)
  t.ok(percents.length > 3, `in portions: ${percents}`)
  t.match(
    percents,
    percents.toSorted((a, b) => a - b),
  )
  const rows = await storage.db.selectFrom('a__Thing').select(['id', 'code']).orderBy('id').execute()
  t.equal(rows.length, 3000 + percents.length)
  const changed = new Map(percents.map((_, index) => [index + 1, 5001 + index]))
  for (const { id, code } of rows.slice(0, 3000))
    if (code !== (changed.get(id as number) ?? id)) t.fail(`${id} has ${code}`)
  t.same(
    rows.slice(3000).map(({ code }) => code),
    percents.map((_, index) => 9001 + index),
  )
})

t.test('what cannot be is refused by name, however late it came', async (t) => {
  const { storage } = await freshStorage()
  const { db } = storage
  const plain = thing('string', 'clear', { note: { type: 'string' } })
  await migrateTo(storage, [company, plain])
  await fillTable(storage, 1000)
  const late = async (
    query: { execute(): Promise<unknown> },
    message: RegExp,
    models = [thing('integer', 'clear')],
  ) => {
    let isLate = true
    const writes: Promise<unknown>[] = []
    const onProgress = () => {
      if (isLate) writes.push(query.execute())
      isLate = false
    }
    const refused = migrate(storage, [company, ...models], { onProgress })
    await t.rejects(refused, { name: 'Refused', message })
    await Promise.all(writes)
    t.strictSame(await leftOver(storage), [])
    t.match(await db.selectFrom('a__Thing').selectAll().where('id', '=', 7).execute(), [{ code: '7' }])
  }
  await late(
    db.updateTable('a__Thing').set({ code: 'x' }).where('id', '=', 900),
    /"code" cannot become integer without loss in the records 900\./,
  )
  await db.updateTable('a__Thing').set({ code: '900' }).where('id', '=', 900).execute()
  const unique = thing('integer', 'clear', { note: { type: 'string', unique: true } })
  await db.updateTable('a__Thing').set({ note: 'one' }).where('id', '=', 3).execute()
  await late(
    db.updateTable('a__Thing').set({ note: 'one' }).where('id', '=', 901),
    /"note" cannot be unique: the records 3, 901 share a value/,
    [unique],
  )
  // Nothing but the new table itself can tell of what is computed from converted values.
  const computed = thing('integer', 'clear', {
    note: { type: 'string' },
    twice: { type: 'string', computed: '{note}', unique: true },
  })
  await late(
    db.updateTable('a__Thing').set({ note: null }).where('id', '=', 5),
    /"twice" cannot be unique: the records 3, 901/,
    [computed],
  )
})

t.test('what a process that died has left over goes at the next start', async (t) => {
  const model = { type: 'object', properties: { code: { type: 'string' } }, audit: false }
  for (const next of ['string', 'integer']) {
    const folder = makeFolder(t, { 'a.Thing.json': model })
    const first = await startApp(t, { folder })
    const client = await first.login()
    await client.put('/ws/rest/a.Thing', { code: '7' })
    const models = [modelOf('a.Thing', { ...model, properties: { code: { type: 'integer' } } })]
    const [draft] = (await first.storage.runWriteJob(BEGIN, { models, token: 'dead' })) as [Draft]
    await first.storage.runWriteJob(FILL, { draft, rows: 1 })
    await first.close()
    writeModel(folder, 'a.Thing.json', { ...model, properties: { code: { type: next } } })
    const second = await startApp(t, { folder })
    t.strictSame(await leftOver(second.storage), [])
    const { body } = await (await second.login()).get('/ws/rest/a.Thing/1')
    t.strictSame(body.data[0].code, next === 'string' ? '7' : 7)
  }
})

t.test('of two processes that make a table anew, one begins again', async (t) => {
  const { storage: first, folder } = await freshStorage()
  const second = await testStorage(t, folder)
  await migrateTo(first, [company, thing('string', 'clear')])
  await fillTable(first, 2000)
  const models = [company, thing('integer', 'clear')]
  const plans = await Promise.all([migrate(first, models), migrate(second, models)])
  t.same(plans.map((done) => done.length).sort(), [0, 1])
  t.strictSame(await leftOver(first), [])
  const [draft] = (await first.runWriteJob(BEGIN, { models: [company, thing('string', 'clear')], token: 'slow' })) as [
    Draft,
  ]
  await t.rejects(migrate(second, models, { busyTimeoutMs: -1 }), {
    kind: 'busy',
    message: /Another process is rebuilding/,
  })
  await first.db.updateTable('dossier_drafts').set({ touched: 0 }).execute()
  const back = [company, thing('number', 'clear')]
  await second.runWriteJob(BEGIN, { models: back, token: 'other' })
  await t.rejects(first.runWriteJob(FILL, { draft, rows: 1 }), {
    kind: 'stale',
    message: /has begun to rebuild the same/,
  })
  await second.db.updateTable('dossier_drafts').set({ touched: 0 }).execute()
  await migrateTo(second, back)
  t.strictSame(await leftOver(first), [])
})

t.test('what was in the way is gone when it is looked at again', async (t) => {
  const { storage } = await freshStorage()
  await migrateTo(storage, [company, thing('string', 'clear')])
  await fillTable(storage, 3)
  const drafts = await storage.runWriteJob(BEGIN, { models: [company, thing('integer', 'clear')], token: 'mine' })
  await t.rejects(storage.runWriteJob(REFUSE_DUPLICATES, drafts), { kind: 'stale', message: /so again/ })
  await sql`UPDATE dossier_drafts SET touched = 0`.execute(storage.db)
  const pairs = { note: { type: 'string' }, size: { type: 'integer' } }
  await migrateTo(storage, [company, thing('string', 'clear', pairs)])
  const unique = { ...thing('integer', 'clear', pairs), unique: [['code', 'note', 'size']] }
  const { plans } = await planMigration(storage, [company, unique])
  t.match(plans[1], { refusals: [], steps: [{ kind: 'rebuild' }, { what: 'make code, note, size unique' }] })
})

t.test('a table that was changed by hand since its draft was begun', async (t) => {
  const { storage } = await freshStorage()
  await migrateTo(storage, [company, thing('string', 'clear')])
  const models = [company, thing('integer', 'clear')]
  const drafts = await storage.runWriteJob(BEGIN, { models, token: 'mine' })
  await sql`ALTER TABLE a__Thing ADD COLUMN more TEXT`.execute(storage.db)
  await t.rejects(storage.runWriteJob(CARRY_OUT, { models, miscounted: [], built: [], drafts }), {
    kind: 'stale',
    message: /has changed/,
  })
  await sql`UPDATE dossier_drafts SET touched = 0`.execute(storage.db)
  const [draft] = (await storage.runWriteJob(BEGIN, { models, token: 'again' })) as [Draft]
  await fillTable(storage, 3)
  await storage.runWriteJob(FILL, { draft, rows: 10 })
  await sql`DROP TRIGGER a__Thing__DELETE__draft`.execute(storage.db)
  await sql`DELETE FROM a__Thing WHERE id = 2`.execute(storage.db)
  await t.rejects(storage.runWriteJob(CARRY_OUT, { models, miscounted: [], built: [], drafts: [draft] }), {
    kind: 'stale',
    message: /no trigger hears of/,
  })
})

t.test('a default for many records does not hold up others either', async (t) => {
  const { storage } = await freshStorage()
  await migrateTo(storage, [company, thing('string', 'clear')])
  await fillTable(storage, MAX_ROWS_TO_FILL + 1)
  const [plan] = await migrateTo(storage, [
    company,
    thing('string', 'clear', { size: { type: 'integer', default: 4 } }),
  ])
  t.match(plan?.steps[0]?.what, /fill in the default of size \(10001 records\); rebuild the table/)
  const filled = await storage.db.selectFrom('a__Thing').select('id').where('size', '=', 4).execute()
  t.equal(filled.length, MAX_ROWS_TO_FILL + 1)
})

t.test('a service tells how far it is, and gives up when it has to stop', async (t) => {
  const model = (type: string) => ({ type: 'object', properties: { code: { type } }, audit: false })
  const told: string[] = []
  const log = { write: (line: string) => void told.push(line) }
  const env = { LOG_LEVEL: 'info' }
  const service = await startApp(t, { models: { 'a.Thing.json': model('string') }, log, env })
  await fillTable(service.storage, 1000)
  const { now } = Date
  let elapsed = 0
  // Every look at the clock is some seconds later: a table of many records takes that long.
  const later = () => {
    elapsed += 3000
    return now() + elapsed
  }
  t.intercept(Date, 'now', { value: later })
  writeModel(service.folder, 'a.Thing.json', model('number'))
  await service.service.reload()
  t.match(told.join(''), /"model":"a.Thing","percent":\d+,"msg":"a table is being rebuilt"/)
  t.match(told.join(''), /"msg":"models reloaded"/)
  told.length = 0
  writeModel(service.folder, 'a.Thing.json', model('string'))
  const reloading = service.service.reload()
  await service.close()
  await reloading
  t.match(told.join(''), /the models folder was not reloaded: the service stops/)
  t.notMatch(told.join(''), /"level":50/)
})

t.test('a change that is given up leaves nothing behind', async (t) => {
  const { storage } = await freshStorage()
  await migrateTo(storage, [company, thing('string', 'clear')])
  await fillTable(storage, 1000)
  const controller = new AbortController()
  const course = { signal: controller.signal, onProgress: () => controller.abort() }
  await t.rejects(migrate(storage, [company, thing('integer', 'clear')], course), { name: 'AbortError' })
  t.strictSame(await leftOver(storage), [])
})

t.test('what is unique, or made by hand, is looked at when it is whole', async (t) => {
  const { storage, folder } = await freshStorage()
  const shell = new Sqlite(databaseFile(join(folder, 'data')))
  t.teardown(() => shell.close())
  const label = { label: { type: 'string', computed: '{code} {company}', unique: true } }
  const labelled = (type: string) =>
    modelOf('a.Thing', {
      type: 'object',
      properties: {
        code: { type },
        company: { type: 'integer', reference: 'a.Company', onDelete: 'cascade' },
        other: { type: 'integer' },
        ...label,
      },
      audit: false,
    })
  await migrateTo(storage, [company, labelled('string')])
  shell.exec(`PRAGMA foreign_keys = on; INSERT INTO a__Company (name) VALUES ('x'), ('y');
    INSERT INTO a__Thing (code, company, other) VALUES ('1', 1, 7), ('1', NULL, 7), ('2', 1, 8);
    CREATE VIEW seen AS SELECT code FROM a__Thing;
    CREATE TABLE told (id); CREATE TRIGGER tell AFTER DELETE ON a__Thing BEGIN INSERT INTO told VALUES (OLD.id); END`)
  const models = [company, labelled('integer')]
  const [draft] = (await storage.runWriteJob(BEGIN, { models, token: 'mine' })) as [Draft]
  await storage.runWriteJob(FILL, { draft, rows: 10 })
  // What the draft has copied holds up nobody: neither by its references nor by what is unique in it.
  shell.exec('DELETE FROM a__Company WHERE id = 1')
  await storage.runWriteJob(CARRY_OUT, { models, miscounted: [], built: [], drafts: [draft] })
  t.strictSame(shell.prepare('SELECT id, code, label FROM a__Thing').all(), [{ id: 2, code: 1, label: '1' }])
  t.strictSame(shell.prepare('SELECT code FROM seen').all(), [{ code: 1 }])
  t.strictSame(shell.prepare('SELECT id FROM told ORDER BY id').all(), [{ id: 1 }, { id: 3 }])
  shell.exec('DELETE FROM a__Thing')
  t.equal(shell.prepare('SELECT count(*) FROM told').pluck().get(), 3, 'also what was made by hand goes on')
  shell.exec(`INSERT INTO a__Thing (code) VALUES (1)`)
  t.throws(() => shell.exec(`INSERT INTO a__Thing (code) VALUES (1)`), /UNIQUE/)
  t.throws(() => shell.exec(`INSERT INTO a__Thing (code, company) VALUES (5, 99)`), /FOREIGN KEY/)

  const decimals = modelOf('a.Price', { type: 'object', properties: { x: { type: 'string' } }, audit: false })
  await migrateTo(storage, [...models, decimals])
  shell.exec(`INSERT INTO a__Price (x) VALUES ('1.50'), ('1.5'); CREATE UNIQUE INDEX by_hand ON a__Price (x)`)
  const numbers = modelOf('a.Price', { type: 'object', properties: { x: { type: 'number' } }, audit: false })
  await t.rejects(migrateTo(storage, [...models, numbers]), {
    name: 'Refused',
    message: /The index by_hand, which was made by hand, does not fit any more: UNIQUE.* Drop it first/,
  })
  t.strictSame(await leftOver(storage), [])
})

t.test('whoever is disturbed again and again gives up', async (t) => {
  const { storage, folder } = await freshStorage()
  const shell = new Sqlite(databaseFile(join(folder, 'data')))
  t.teardown(() => shell.close())
  await migrateTo(storage, [company, thing('string', 'clear')])
  await fillTable(storage, 150)
  let beginnings = 0
  const onProgress = () => {
    if (!shell.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'a__Thing__DELETE__draft'").get()) return
    beginnings++
    shell.exec('DROP TRIGGER a__Thing__DELETE__draft; DELETE FROM a__Thing WHERE id = (SELECT min(id) FROM a__Thing)')
  }
  await t.rejects(migrate(storage, [company, thing('integer', 'clear')], { onProgress }), {
    name: 'StorageFault',
    message: /no trigger hears of/,
  })
  t.equal(beginnings, 5)
  t.strictSame(await leftOver(storage), [])
})

t.test('waiting for others has an end', async (t) => {
  const { storage } = await freshStorage()
  await migrateTo(storage, [company, thing('string', 'clear')])
  const models = [company, thing('integer', 'clear')]
  await storage.runWriteJob(BEGIN, { models, token: 'other' })
  const controller = new AbortController()
  const waiting = migrate(storage, models, { signal: controller.signal })
  controller.abort()
  await t.rejects(waiting, { name: 'AbortError' }, 'when the service stops')
  // The clock has been set back since.
  await storage.db
    .updateTable('dossier_drafts')
    .set({ touched: Date.now() + 3_600_000 })
    .execute()
  t.equal((await migrateTo(storage, models)).length, 1, 'when nobody can have touched it')
})
