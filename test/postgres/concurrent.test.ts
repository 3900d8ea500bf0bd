import { type CompiledQuery, sql } from 'kysely'
import pg from 'pg'
import t, { type Test } from 'tap'
import type { Model } from '../../src/model/model.ts'
import { Connection } from '../../src/storage/postgres/connection.ts'
import { createKyselyDatabase } from '../../src/storage/postgres/kysely.ts'
import { Reader } from '../../src/storage/postgres/reader.ts'
import { WriteConnection } from '../../src/storage/postgres/write-connection.ts'
import { WriteQueue } from '../../src/storage/postgres/write-queue.ts'
import { defineJob, type Storage, StorageFault } from '../../src/storage/storage.ts'
import type { applyMigration } from '../../src/tables/apply.ts'
import { migrate, planMigration } from '../../src/tables/migrate.ts'
import { MAX_ROWS_TO_FILL } from '../../src/tables/plan.ts'
import { buildIndexes } from '../../src/tables/rebuild/build-indexes.ts'
import type { Draft } from '../../src/tables/rebuild/draft.ts'
import type { beginDrafts, fillPortion } from '../../src/tables/rebuild/draft-jobs.ts'
import { recordRead, tableShapes } from '../../src/tables/shape.ts'
import { hasServer } from './run-on-postgres.ts'

const isThere = hasServer()
process.env.TEST_ENGINE = 'postgres'
const { emptyFolder, migrateTo, modelOf, startApp, writeModel } = await import('../helper.ts')
const { postgresDatabase } = await import('../engine.ts')
const { openStorage } = await import('../../src/storage/open.ts')

type AnyJob = (...inputs: never[]) => Promise<unknown>
const job = <Run extends AnyJob>(path: string, name: string, mode?: 'snapshot' | 'no transaction') =>
  defineJob<Parameters<Run>[1], Awaited<ReturnType<Run>>>(import.meta.resolve(`../../src/tables/${path}`), name, mode)
const BEGIN = job<typeof beginDrafts>('rebuild/draft-jobs.ts', 'beginDrafts')
const FILL = job<typeof fillPortion>('rebuild/draft-jobs.ts', 'fillPortion', 'snapshot')
const BUILD = job<typeof buildIndexes>('rebuild/build-indexes.ts', 'buildIndexes', 'no transaction')
const APPLY = job<typeof applyMigration>('apply.ts', 'applyMigration')

const thing = (properties: object, more: object = {}): Model =>
  modelOf('a.Thing', { type: 'object', properties, audit: false, ...more })
const TEXT = { type: 'string' }
const MANY = MAX_ROWS_TO_FILL + 1

/** A storage, and somebody else at the same database. */
async function opened(t: Test) {
  const url = await postgresDatabase(t)
  const storage = await openStorage({ DATA_DIR: emptyFolder(t), DATABASE_URL: url })
  const shell = new pg.Client(url)
  await shell.connect()
  t.teardown(async () => {
    await shell.end()
    await storage.close()
  })
  const rows = async (text: string) => (await shell.query(text)).rows
  return { url, storage, shell, rows, db: storage.db }
}

const fillMany = (storage: Storage) =>
  sql`INSERT INTO "a__Thing" (code) SELECT n::text FROM generate_series(1, ${sql.lit(MANY)}) AS n`.execute(storage.db)

const leftOver = async (rows: (text: string) => Promise<unknown[]>) => [
  ...(await rows(`SELECT relname FROM pg_class WHERE relname LIKE 'dossier\\_draft\\_\\_%' OR relname LIKE '%again%'`)),
  ...(await rows(`SELECT proname FROM pg_proc WHERE proname LIKE '%draft'`)),
  ...(await rows('SELECT tbl FROM dossier_marks UNION ALL SELECT tbl FROM dossier_drafts')),
  ...(await rows('SELECT conname FROM pg_constraint WHERE NOT convalidated')),
]

if (isThere) {
  t.test('a table is copied while others write, and takes the place of the old one with all around it', async (t) => {
    const { storage, shell, rows, db } = await opened(t)
    const other = modelOf('a.Other', {
      type: 'object',
      properties: { to: { type: 'integer', reference: 'a.Thing', onDelete: 'clear' } },
      audit: false,
    })
    const before = thing({ code: { type: 'string', unique: true }, up: { type: 'integer', reference: 'a.Thing' } })
    await migrateTo(storage, [before, other])
    await shell.query(
      `GRANT SELECT ON "a__Thing" TO PUBLIC; GRANT DELETE ON "a__Thing" TO pg_monitor WITH GRANT OPTION`,
    )
    await shell.query(`INSERT INTO "a__Thing" (code, up) VALUES ('1', NULL), ('2', 1), ('3', NULL), ('9', NULL)`)
    await shell.query(`INSERT INTO "a__Other" ("to") VALUES (1), (3); DELETE FROM "a__Thing" WHERE code = '9'`)
    const after = thing({ code: { type: 'integer', unique: true }, up: { type: 'integer', reference: 'a.Thing' } })
    const models = [after, other]
    const [draft] = (await storage.runWriteJob(BEGIN, { models, token: 'mine' })) as [Draft]
    await storage.runWriteJob(FILL, { draft, rows: 10 })
    // Two swap their values, one comes and one goes; what has been copied holds up nobody.
    await shell.query(`UPDATE "a__Thing" SET code = 'x' WHERE id = 2; UPDATE "a__Thing" SET code = '2' WHERE id = 1;
      UPDATE "a__Thing" SET code = '1' WHERE id = 2; INSERT INTO "a__Thing" (code) VALUES ('5');
      DELETE FROM "a__Thing" WHERE id = 3`)
    await storage.runWriteJob(APPLY, { models, miscounted: [], drafts: [draft], built: [] })
    t.strictSame(await db.selectFrom('a__Thing').selectAll().orderBy('id').execute(), [
      { id: 1, version: 0, code: 2, up: null },
      { id: 2, version: 0, code: 1, up: 1 },
      { id: 5, version: 0, code: 5, up: null },
    ])
    t.strictSame(await db.selectFrom('a__Other').select(['to', 'version']).orderBy('id').execute(), [
      { to: 1, version: 0 },
      { to: null, version: 1 },
    ])
    t.strictSame(await migrateTo(storage, models), [], 'nothing is left to do')
    t.strictSame(await leftOver(rows), [])
    t.strictSame(
      await rows(`SELECT indexname FROM pg_indexes WHERE tablename = 'a__Thing' ORDER BY 1`),
      ['a__Thing__code__unique', 'a__Thing__up__index', 'a__Thing_pkey'].map((indexname) => ({ indexname })),
    )
    t.strictSame(
      await rows(`SELECT grantee, privilege_type AS what, is_grantable FROM information_schema.table_privileges
        WHERE table_name = 'a__Thing' AND grantee <> 'postgres' ORDER BY 1`),
      [
        { grantee: 'PUBLIC', what: 'SELECT', is_grantable: 'NO' },
        { grantee: 'pg_monitor', what: 'DELETE', is_grantable: 'YES' },
      ],
    )
    await t.rejects(db.insertInto('a__Other').values({ to: 99 }).execute(), { kind: 'dangling' } as unknown as Error)
    await db.deleteFrom('a__Thing').where('id', '=', 5).execute()
    await db.insertInto('a__Thing').values({ code: 7 }).execute()
    t.match(await rows('SELECT max(id)::int AS id FROM "a__Thing"'), [{ id: 6 }], 'no id comes again')
    await db.insertInto('a__Other').values({ to: 6 }).execute()
    await db.deleteFrom('a__Thing').where('id', '=', 6).execute()
    t.match(
      await rows('SELECT version::int FROM "a__Other" ORDER BY id DESC LIMIT 1'),
      [{ version: 1 }],
      'clears as before',
    )
  })

  t.test('a table with something made by hand is changed in place, and loses nothing', async (t) => {
    const { storage, shell, db } = await opened(t)
    await migrateTo(storage, [thing({ code: TEXT })])
    await shell.query(`INSERT INTO "a__Thing" (code) VALUES ('1'); CREATE VIEW seen AS SELECT id FROM "a__Thing"`)
    const { rebuild } = db.dialect.tables as unknown as {
      rebuild: { readHandMade(...given: unknown[]): Promise<string[]> }
    }
    t.strictSame(await rebuild.readHandMade(db, 'a__Thing'), ['view seen'])
    await migrateTo(storage, [thing({ code: { type: 'integer' } })])
    t.strictSame((await shell.query('SELECT * FROM seen')).rows, [{ id: '1' }])
    await shell.query(`CREATE INDEX by_hand ON "a__Thing" (code); CREATE POLICY mine ON "a__Thing"; COMMENT ON TABLE "a__Thing" IS 'x';
      ALTER TABLE "a__Thing" ADD CHECK (code < 9), ADD COLUMN more uuid; CREATE PUBLICATION told FOR TABLE "a__Thing";
      CREATE FUNCTION given("a__Thing") RETURNS int LANGUAGE sql AS 'SELECT 1'; ALTER TABLE "a__Thing" SET (fillfactor = 90);
      CREATE STATISTICS twice ON id, code FROM "a__Thing"`)
    t.strictSame(await rebuild.readHandMade(db, 'a__Thing'), [
      'comment',
      'constraint a__Thing_code_check',
      'function given',
      'index by_hand',
      'policy mine',
      'publication told',
      'settings of the column more',
      'settings of the table',
      'statistics twice',
      'view seen',
    ])
    await shell.query(`ALTER TABLE "a__Thing" DROP CONSTRAINT "a__Thing_code_check"; DROP VIEW seen;
      DROP STATISTICS twice; DROP PUBLICATION told; DROP POLICY mine ON "a__Thing"; DROP FUNCTION given;
      ALTER TABLE "a__Thing" RESET (fillfactor), DROP COLUMN more; COMMENT ON TABLE "a__Thing" IS NULL`)
    await migrateTo(storage, [thing({ code: TEXT })])
    t.match((await shell.query(`SELECT indexname FROM pg_indexes WHERE indexname = 'by_hand'`)).rows.length, 1)
    await shell.query('DROP INDEX by_hand')
    // It is made by hand while the copy is filled.
    const models = [thing({ code: { type: 'integer' } })]
    const drafts = await storage.runWriteJob(BEGIN, { models, token: 'mine' })
    await shell.query('CREATE VIEW seen AS SELECT id FROM "a__Thing"')
    await t.rejects(storage.runWriteJob(APPLY, { models, miscounted: [], drafts, built: [] }), {
      kind: 'stale',
    } as never)
    await migrateTo(storage, models)
    t.match(await db.selectFrom('a__Thing').selectAll().execute(), [{ code: 1 }])
    const refers = (onDelete: string) => thing({ code: { type: 'integer', reference: 'a.Thing', onDelete } })
    await migrateTo(storage, [refers('clear')])
    await migrateTo(storage, [refers('restrict')])
    await migrateTo(storage, [refers('restrict'), modelOf('a.Other', { type: 'object', properties: { x: TEXT } })])
    await t.rejects(
      db
        .deleteFrom('a__Thing')
        .execute()
        .then(() => db.insertInto('a__Thing').values({ code: 9 }).execute()),
      {
        kind: 'dangling',
      } as never,
    )
  })

  t.test('indexes of a large table are built beforehand', async (t) => {
    const { url, storage, shell, rows } = await opened(t)
    await migrateTo(storage, [thing({ code: TEXT, name: TEXT })])
    await fillMany(storage)
    const renamed = { number: { type: 'string', renamedFrom: 'code' }, name: TEXT }
    // What a process that was killed has left.
    await shell.query(`CREATE INDEX "a__Thing__number__sort2" ON "a__Thing" (name);
      UPDATE pg_index SET indisvalid = false WHERE indexrelid = '"a__Thing__number__sort2"'::regclass`)
    t.match((await planMigration(storage, [thing({ code: TEXT, name: TEXT })])).obsolete, ['a__Thing__number__sort2'])
    const [plan] = await migrateTo(storage, [thing(renamed, { indexes: [['number']], unique: [['number', 'name']] })])
    t.strictSame(
      plan?.steps.map(({ what }) => what),
      ['rename code to number', 'make number, name unique', 'index number, name', 'index number'],
    )
    t.match(await rows(`SELECT indexdef FROM pg_indexes WHERE indexname = 'a__Thing__number__sort2'`), [
      { indexdef: /dossier_order_key\(number/ },
    ])
    await shell.query(`UPDATE "a__Thing" SET name = 'same' WHERE id < 3`)
    await t.rejects(
      migrateTo(storage, [thing(renamed, { unique: [['name']] })]),
      /"name" cannot be unique: the records 1, 2 share a value/,
    )
    t.strictSame(await rows(`SELECT 1 FROM pg_class WHERE relname = 'a__Thing__name__unique'`), [])
    await migrateTo(storage, [thing(renamed, { indexes: [['number']] })])
    await shell.query(`UPDATE "a__Thing" SET name = NULL; UPDATE "a__Thing" SET name = (
      SELECT string_agg(md5(n::text), '') FROM generate_series(1, 400) AS n) WHERE id = 1`)
    await t.rejects(
      migrateTo(storage, [thing(renamed, { unique: [['name']] })]),
      /make name unique is not possible: index row/,
    )
    await shell.query('UPDATE "a__Thing" SET name = NULL')
    const built = await storage.runWriteJob(BUILD, {
      models: [thing(renamed, { indexes: [['number'], ['name']] })],
      isOptional: false,
    })
    t.strictSame(built, ['a__Thing__name__sort2'])
    // What was built for a change that is refused is dropped.
    const refused = thing({ ...renamed, need: TEXT }, { required: ['need'], indexes: [['number'], ['name']] })
    await t.rejects(migrateTo(storage, [refused]), /is required/)
    await migrateTo(storage, [thing(renamed)])
    const wanted = thing({ ...renamed }, { indexes: [['name']] })
    await t.rejects(
      migrate(storage, [wanted], {
        hold: () => {
          throw new Error('given up')
        },
      }),
      /given up/,
    )
    t.strictSame(await rows(`SELECT 1 FROM pg_class WHERE relname = 'a__Thing__name__sort2'`), [])
    // It was not unique for a moment.
    const connection = await Connection.open(url)
    t.teardown(() => connection.close())
    const execute = (query: CompiledQuery) => {
      if (/^CREATE UNIQUE/.test(query.sql)) throw new StorageFault('taken', 'x')
      return connection.runUnprepared(query)
    }
    const atThisMoment = createKyselyDatabase(execute)
    await t.rejects(
      buildIndexes(atThisMoment, { models: [thing(renamed, { unique: [['name']] })], isOptional: false }),
      { kind: 'stale' } as never,
    )
    // What cannot be tidied up after a change is told, and done after the next one.
    const told: Error[] = []
    const failing = Object.assign(Object.create(storage), {
      runExclusively: (work: () => Promise<unknown>) => work(),
      runWriteJob: (given: { name: string }, ...rest: never[]) =>
        given.name === 'validateReferences' || given.name === 'dropIndexes'
          ? Promise.reject(told.length === 0 ? new Error('odd') : new StorageFault('busy', 'x'))
          : (storage.runWriteJob as AnyJob).apply(storage, [given, ...rest] as never[]),
    })
    const onError = (error: unknown) => void told.push(error as Error)
    await migrate(failing, [thing({ ...renamed, more: TEXT })], { onError })
    await migrate(failing, [thing({ ...renamed, more: TEXT })], { onError })
    t.match(told, [{ message: 'odd' }])
    const long = modelOf(`a.${'T'.repeat(40)}`, { type: 'object', properties: { field: TEXT }, audit: false })
    const longer = modelOf(long.name, {
      type: 'object',
      properties: { field: { type: 'integer' }, b: TEXT },
      indexes: [['field', 'b']],
      audit: false,
    })
    await migrateTo(storage, [long])
    await migrateTo(storage, [longer])
    const back = { type: 'object', properties: { field: TEXT, b: TEXT }, indexes: [['field', 'b']], audit: false }
    await migrateTo(storage, [modelOf(long.name, back)])
    const [computed] = await migrateTo(storage, [
      thing({ ...renamed, label: { type: 'string', computed: '{number}!' } }),
    ])
    t.match(computed?.steps, [{ what: /^compute label \(10001 records\); rebuild the table/ }])
    t.match(await rows('SELECT label FROM "a__Thing" WHERE id = 7'), [{ label: '7!' }])
    t.strictSame(await leftOver(rows), [])
  })

  t.test('a change waits for who uses the table, and is tried again; one process at a time', async (t) => {
    const { storage, shell, url } = await opened(t)
    await migrateTo(storage, [thing({ code: TEXT })])
    await fillMany(storage)
    await shell.query('BEGIN; SELECT 1 FROM "a__Thing" LIMIT 1')
    let holds = 0
    const changing = migrate(storage, [thing({ code: { type: 'integer' } })], {
      signal: new AbortController().signal,
      hold: async (lastStep) => {
        if (++holds === 2) await shell.query('COMMIT')
        return lastStep()
      },
    })
    const second = await openStorage({ DATA_DIR: emptyFolder(t), DATABASE_URL: url })
    t.equal((await changing).length, 1)
    t.equal(holds, 2)
    await storage.runExclusively?.(async () => {
      await t.rejects(migrate(second, [thing({ code: TEXT })], { busyTimeoutMs: -1 }), {
        message: /Another process is changing tables/,
      })
    })
    // Nobody waits any more for an index that cannot be built now.
    await shell.query('BEGIN; UPDATE "a__Thing" SET code = 1 WHERE id = 1')
    const controller = new AbortController()
    const waiting = migrate(second, [thing({ code: { type: 'integer', index: true } })], { signal: controller.signal })
    const isWaiting = `SELECT 1 FROM pg_stat_activity WHERE query LIKE 'CREATE INDEX CONCURRENTLY%' AND wait_event_type = 'Lock'`
    const closed = new Reader(url, new Int32Array(1), 0)
    await closed.close()
    await t.rejects(closed.all({ sql: 'SELECT 1', parameters: [] }), { kind: 'busy' } as never, 'opens none anew')
    const watcher = new pg.Client(url)
    await watcher.connect()
    while ((await watcher.query(isWaiting)).rows.length === 0);
    controller.abort()
    await t.rejects(waiting, { name: 'AbortError' })
    await shell.query('ROLLBACK')
    await watcher.end()
    await second.close()
  })

  t.test('a locked table holds up nobody else, and those who need it wait', async (t) => {
    const { url, storage, shell } = await opened(t)
    const other = modelOf('a.Other', { type: 'object', properties: { x: TEXT }, audit: false })
    await migrateTo(storage, [thing({ code: TEXT }), other])
    const unit = (model: Model, column: string) => ({
      shapes: tableShapes([model]),
      steps: [
        {
          sql: `INSERT INTO "${model.name.replace('.', '__')}" ("${column}") VALUES ('1') RETURNING id`,
          parameters: [],
        },
      ],
    })
    const watcher = new pg.Client(url)
    await watcher.connect()
    t.teardown(() => watcher.end())
    const reading = { sql: 'SELECT code FROM "a__Thing"', parameters: [], readsRecords: true }
    await shell.query('BEGIN; LOCK TABLE "a__Thing" IN ACCESS EXCLUSIVE MODE')
    // Of a group, those of other tables are written.
    const lane = new WriteConnection(url)
    t.match(await lane.writeGroup([unit(thing({ code: TEXT }), 'code'), unit(other, 'x')]), [
      { isLocked: true },
      { rows: [[{}]] },
    ])
    const both = [unit(thing({ code: TEXT }), 'code'), unit(thing({ code: TEXT }), 'code')]
    t.match(await lane.writeGroup(both), [{ isLocked: true }, { isLocked: true }])
    await lane.close()
    const done: string[] = []
    const note = (what: string, work: Promise<unknown>) => work.then(() => done.push(what))
    const locked = [
      note('alone', storage.write({ ...unit(thing({ code: TEXT }), 'code'), mutex: 'x' })),
      ...[1, 2].map(() => note('written', storage.write(unit(thing({ code: TEXT }), 'code')))),
      note('written', storage.write(unit(other, 'x'))),
      ...[1, 2].map(() => note('read', storage.read(reading) as Promise<unknown>)),
    ]
    await Promise.all([1, 2, 3].map(() => storage.write(unit(other, 'x'))))
    await storage.read({ sql: 'SELECT x FROM "a__Other"', parameters: [], readsRecords: true })
    // Once more, when it is known that the table is locked.
    locked.push(note('read', storage.read(reading) as Promise<unknown>))
    t.notOk(done.includes('read'))
    await shell.query('COMMIT')
    await Promise.all(locked)
    t.strictSame(done.toSorted(), ['alone', 'read', 'read', 'read', 'written', 'written', 'written'])
    // It has another shape afterwards.
    await shell.query('BEGIN; LOCK TABLE "a__Thing" IN ACCESS EXCLUSIVE MODE')
    const stale = storage.read(reading) as Promise<unknown>
    stale.catch(() => {})
    // Longer than other reads wait.
    const waits = `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'SELECT code%'
      AND clock_timestamp() - query_start > interval '100 ms'`
    while ((await watcher.query(waits)).rows.length === 0);
    await shell.query(`UPDATE dossier_tables SET shape = 'other' WHERE tbl = 'a__Thing'; COMMIT`)
    await t.rejects(stale, { kind: 'stale' } as never)
    // Nothing has waited, and what this node knows of the shapes is older.
    const guarded = recordRead(storage.dialect, thing({ code: TEXT }), {
      sql: 'SELECT code FROM "a__Thing"',
      parameters: [],
    })
    await t.rejects(storage.read(guarded) as Promise<unknown>, { kind: 'stale' } as never)
    await shell.query(
      `UPDATE dossier_tables SET shape = '${tableShapes([thing({ code: TEXT })]).a__Thing}' WHERE tbl = 'a__Thing'`,
    )
    t.ok((await storage.read(guarded)).length > 0)
    await shell.query(`CREATE FUNCTION stuck() RETURNS int LANGUAGE plpgsql AS $$
      BEGIN RAISE EXCEPTION 'x' USING ERRCODE = 'deadlock_detected'; END $$`)
    const stuck = { sql: 'SELECT stuck()', parameters: [] }
    const options = { username: 'a', seconds: 5, bytes: 1000, shapes: {} }
    await t.rejects(storage.search(stuck, options), { kind: 'busy' } as never)
    await t.rejects(storage.read(stuck) as Promise<unknown>, { kind: 'busy' } as never)
    // A unit does not wait for ever, and the queue closes when the last one has been answered.
    await shell.query('BEGIN; LOCK TABLE "a__Other" IN ACCESS EXCLUSIVE MODE')
    const queue = new WriteQueue(url, () => {}, 20)
    const late = queue.write(unit(other, 'x'))
    late.catch(() => {})
    await Promise.all([queue.close(), t.rejects(late, { kind: 'busy' } as never)])
    await shell.query('COMMIT')
  })

  t.test('requests that meet a changed table are answered by the node when it has followed', async (t) => {
    const model = (type: string) => ({ type: 'object', properties: { code: { type }, name: { type: 'string' } } })
    const one = await startApp(t, { models: { 'a.Thing.json': model('string') } })
    const { DATABASE_URL = '' } = one.config
    const env = { DATABASE_URL, SERVING_THREADS: '2' }
    const two = await startApp(t, { models: { 'a.Thing.json': model('string') }, env })
    await two.service.threadsStarted
    const first = await one.login()
    const second = Object.assign(await two.login(), { cookie: first.cookie })
    await first.put('/ws/rest/a.Thing', { code: '1' })
    writeModel(one.folder, 'a.Thing.json', model('integer'))
    await one.service.reload()
    // The other node has not followed yet.
    const changed = second.post('/ws/rest/a.Thing/1', { version: 0, name: 'x' })
    // Each has a connection of its own, so that both threads have some.
    const all = Array.from({ length: 10 }, async () => {
      const refused = second.put('/ws/rest/a.Thing', { code: '2' })
      const found = second.get('/ws/rest/a.Thing?sort=code')
      const read = await second.get('/ws/rest/a.Thing/1')
      return { refused: (await refused).status, found: (await found).status, code: read.body.data?.[0].code }
    })
    const wanted = { refused: 422, found: 200, code: 1 }
    t.strictSame(await Promise.all(all), Array(10).fill(wanted), 'the text is refused by the new model')
    t.equal((await changed).status, 200)
    t.equal((await second.put('/ws/rest/a.Thing', { code: 3 })).status, 200)
    const { connections } = await two.service.storage.stats()
    t.ok(connections >= 3, 'those of the other thread are counted')
  })
}
