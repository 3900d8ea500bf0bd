import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import t, { type Test } from 'tap'
import { modelsFingerprint } from '../../src/model/model.ts'
import { defineJob } from '../../src/storage/storage.ts'
import type { applyMigration } from '../../src/tables/apply.ts'
import { hasLeftovers, migrate, Superseded } from '../../src/tables/migrate.ts'
import { MAX_ROWS_TO_FILL } from '../../src/tables/plan.ts'
import type { buildIndexes } from '../../src/tables/rebuild/build-indexes.ts'
import { PASSWORD } from '../client.ts'
import { listen } from '../listen.ts'
import { hasServer } from './run-on-postgres.ts'

/** Changes of tables beside others who use them, beside earlier faults, and after processes that died in the middle. */

const isThere = hasServer()
process.env.TEST_ENGINE = 'postgres'
const { emptyFolder, migrateTo, modelOf, startApp } = await import('../helper.ts')
const { postgresDatabase } = await import('../engine.ts')
const { openStorage } = await import('../../src/storage/open.ts')

const TEXT = { type: 'string' }
const APPLY = defineJob<Parameters<typeof applyMigration>[1], unknown>(
  import.meta.resolve('../../src/tables/apply.ts'),
  'applyMigration',
)
const BUILD = defineJob<Parameters<typeof buildIndexes>[1], string[]>(
  import.meta.resolve('../../src/tables/rebuild/build-indexes.ts'),
  'buildIndexes',
  'no transaction',
)
const model = (name: string, properties: object, more: object = {}) =>
  modelOf(name, { type: 'object', properties, audit: false, ...more })
const thing = (properties: object, more?: object) => model('a.Thing', properties, more)

/** A storage, and two other sessions at the same database. */
async function opened(t: Test) {
  const url = await postgresDatabase(t)
  const storage = await openStorage({ DATA_DIR: emptyFolder(t), DATABASE_URL: url })
  const [shell, other] = [new pg.Client(url), new pg.Client({ connectionString: url, application_name: 'dossier' })]
  await Promise.all([shell.connect(), other.connect()])
  other.on('error', () => {})
  t.teardown(async () => {
    await Promise.all([shell.end(), other.end()])
    await storage.close()
  })
  const rows = async (text: string) => (await shell.query(text)).rows
  return { storage, shell, other, rows, db: storage.db }
}

/** Waits until a query of somebody waits for a lock. */
async function untilItWaits(shell: pg.Client, query: string): Promise<void> {
  const waits = `SELECT 1 FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE $1`
  while ((await shell.query(waits, [query])).rows.length === 0) await sleep(5)
}

const KEYS = `SELECT conname AS name, pg_get_constraintdef(oid) AS is FROM pg_constraint
  WHERE contype = 'f' AND conrelid = '"a__Line"'::regclass ORDER BY 1`
const keyOn = (column: string, action = '') => `FOREIGN KEY (${column}) REFERENCES "a__Thing"(id)${action} DEFERRABLE`

if (isThere) {
  t.test('who restores a record that somebody restores at the same time waits, and is told', async (t) => {
    const app = await startApp(t, { models: { 'a.Thing.json': { type: 'object', properties: { text: TEXT } } } })
    const admin = await app.login()
    const shell = new pg.Client(app.config.DATABASE_URL)
    await shell.connect()
    t.teardown(() => shell.end())
    for (const undone of [false, true]) {
      const { id } = (await admin.put('/ws/rest/a.Thing', { text: 'was' })).body.data[0]
      await admin.delete(`/ws/rest/a.Thing/${id}`)
      const { next } = (await admin.get('/ws/changes')).body
      await shell.query(`BEGIN; INSERT INTO "a__Thing" (id, version, text) VALUES (${id}, 1, 'theirs')`)
      const answer = undone
        ? admin.post(`/ws/changes/${next}/undo`, {})
        : admin.post(`/ws/rest/a.Thing/${id}/restore`, {})
      const watcher = new pg.Client(app.config.DATABASE_URL)
      await watcher.connect()
      await untilItWaits(watcher, 'insert into "a__Thing"%')
      await watcher.end()
      await shell.query('COMMIT')
      t.match(await answer, { status: 409, body: { code: 'VERSION_CONFLICT' } })
      t.match((await admin.get(`/ws/rest/a.Thing/${id}`)).body.data, [{ text: 'theirs' }])
    }
  })

  t.test('what is still being written is told, although rights were changed with a later number', async (t) => {
    const app = await startApp(t, { models: { 'a.Thing.json': { type: 'object', properties: { text: TEXT } } } })
    const admin = await app.login()
    await admin.put('/ws/users', { username: 'zoe', password: PASSWORD, roles: ['one'] })
    const zoe = await app.login('zoe')
    const shell = new pg.Client(app.config.DATABASE_URL)
    await shell.connect()
    t.teardown(() => shell.end())
    await shell.query(`BEGIN; INSERT INTO "a__Thing" (text) VALUES ('late')`)
    t.equal((await admin.post('/ws/users/zoe', { roles: ['two'] })).status, 200)
    const stream = await listen(zoe)
    const page = await zoe.get('/ws/changes')
    await shell.query('COMMIT')
    const [event] = await stream.until(1)
    t.match(event?.data, { record: { text: 'late' } })
    t.match(page, { status: 200, body: { data: [] } })
    t.ok(page.body.next < Number(event?.id), 'and who asks for pages goes on before it')
    stream.stop()
  })

  t.test('foreign keys follow their columns, whatever their names were', async (t) => {
    const { storage, shell, rows } = await opened(t)
    const to = (more: object = {}) => ({ type: 'integer', reference: 'a.Thing', ...more })
    const migrateLines = (properties: object) =>
      migrateTo(storage, [thing({ text: TEXT }), model('a.Line', properties)])
    await migrateLines({ bill: to(), ship: to({ onDelete: 'clear' }) })
    await migrateLines({ invoice: to({ renamedFrom: 'bill' }), ship: to({ onDelete: 'clear' }) })
    const renamed = [
      { name: 'a__Line__invoice__refers', is: keyOn('invoice') },
      { name: 'a__Line__ship__refers', is: keyOn('ship', ' ON DELETE SET NULL') },
    ]
    t.strictSame(await rows(KEYS), renamed)
    await migrateLines({ invoice: to(), ship: to({ onDelete: 'clear' }), bill: to({ onDelete: 'cascade' }) })
    const all = [{ name: 'a__Line__bill__refers', is: keyOn('bill', ' ON DELETE CASCADE') }, ...renamed]
    t.strictSame(await rows(KEYS), all)
    // As an earlier version has left it: two keys of one column, and the names of each other.
    await shell.query(`ALTER TABLE "a__Line" RENAME CONSTRAINT "a__Line__invoice__refers" TO "x__refers";
      ALTER TABLE "a__Line" RENAME CONSTRAINT "a__Line__ship__refers" TO "a__Line__invoice__refers";
      ALTER TABLE "a__Line" RENAME CONSTRAINT "x__refers" TO "a__Line__ship__refers";
      ALTER TABLE "a__Line" ADD CONSTRAINT "a__Line__old__refers" FOREIGN KEY (bill) REFERENCES "a__Thing" (id) ON DELETE SET NULL;
      ALTER TABLE "a__Line" ADD CONSTRAINT "mine" FOREIGN KEY (invoice) REFERENCES "a__Thing" (id) ON DELETE CASCADE`)
    await migrateLines({ invoice: to(), ship: to({ onDelete: 'clear' }), bill: to({ onDelete: 'cascade' }) })
    const mine = { name: 'mine', is: keyOn('invoice', ' ON DELETE CASCADE').replace(' DEFERRABLE', '') }
    t.strictSame(await rows(KEYS), [...all, mine], 'what an operator has made stays')
    t.strictSame(
      await migrateLines({ invoice: to(), ship: to({ onDelete: 'clear' }), bill: to({ onDelete: 'cascade' }) }),
      [],
    )
  })

  t.test('rights and foreign keys that an operator has made are as before', async (t) => {
    const { storage, shell, rows } = await opened(t)
    await migrateTo(storage, [thing({ code: TEXT })])
    await shell.query(`ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO pg_monitor, PUBLIC; REVOKE ALL ON "a__Thing" FROM pg_monitor;
      CREATE TABLE mine (id int PRIMARY KEY, one bigint, two bigint, three bigint);
      ALTER TABLE mine ADD CONSTRAINT one FOREIGN KEY (one) REFERENCES "a__Thing" (id),
        ADD CONSTRAINT two FOREIGN KEY (two) REFERENCES "a__Thing" (id), ADD CONSTRAINT three FOREIGN KEY (three) REFERENCES "a__Thing" (id) NOT VALID;
      COMMENT ON CONSTRAINT two ON mine IS 'it''s mine'; COMMENT ON CONSTRAINT three ON mine IS 'not checked'`)
    await migrateTo(storage, [thing({ code: { type: 'integer' } })])
    t.strictSame(
      await rows(`SELECT conname, convalidated, obj_description(oid) AS said FROM pg_constraint
        WHERE contype = 'f' AND conrelid = 'mine'::regclass ORDER BY 1`),
      [
        { conname: 'one', convalidated: true, said: null },
        { conname: 'three', convalidated: false, said: 'not checked' },
        { conname: 'two', convalidated: true, said: "it's mine" },
      ],
    )
    t.strictSame(
      await rows(`SELECT grantee FROM information_schema.table_privileges
        WHERE table_name = 'a__Thing' AND grantee <> 'postgres'`),
      [],
    )
  })

  t.test('what is written until the lock counts', async (t) => {
    const { storage, shell, other, db } = await opened(t)
    await migrateTo(storage, [thing({ text: TEXT })])
    await other.query(`BEGIN; INSERT INTO "a__Thing" (text) VALUES ('in flight')`)
    const state = { text: TEXT, state: { type: 'string', default: 'open' } }
    const changed = migrateTo(storage, [thing(state)])
    await untilItWaits(shell, 'LOCK TABLE "a__Thing"%')
    await other.query('COMMIT')
    await changed
    t.match(await db.selectFrom('a__Thing').selectAll().execute(), [{ text: 'in flight', state: 'open' }])
    // In place, because of the view.
    await shell.query('CREATE VIEW seen AS SELECT id FROM "a__Thing"; UPDATE "a__Thing" SET text = NULL')
    await other.query(`BEGIN; UPDATE "a__Thing" SET text = 'precious'`)
    const computed = { ...state, text: { type: 'string', computed: '{state}!' } }
    const refused = migrateTo(storage, [thing(computed)])
    refused.catch(() => {})
    await untilItWaits(shell, 'LOCK TABLE "a__Thing"%')
    await other.query('COMMIT')
    await t.rejects(refused, /would be computed, and what the records 1 have stored there lost/)
    t.match(await db.selectFrom('a__Thing').selectAll().execute(), [{ text: 'precious' }])
  })

  t.test('who follows others does not undo what they have published since', async (t) => {
    const { storage, db } = await opened(t)
    const first = [thing({ text: TEXT })]
    await migrateTo(storage, first)
    const input = { models: first, miscounted: [], drafts: [], built: [] }
    await storage.runWriteJob(APPLY, { ...input, generation: 1 })
    t.match(await storage.published?.generation(), 1, 'a follower publishes nothing')
    await migrateTo(storage, [thing({ text: TEXT, more: TEXT })])
    await t.rejects(storage.runWriteJob(APPLY, { ...input, generation: 1 }), new Superseded())
    t.match(await db.selectFrom('dossier_models').select('generation').orderBy('generation').execute(), [{}, {}])
  })

  t.test('a node that is overtaken while it follows reads again', async (t) => {
    const shape = (properties: object) => ({ type: 'object', properties })
    const app = await startApp(t, { models: { 'a.Thing.json': shape({ text: TEXT }) } })
    const { storage } = app.service
    // Somebody has changed the table, so that the node changes it back; another node publishes meanwhile.
    await storage.write({ steps: [{ sql: `UPDATE dossier_tables SET shape = 'other'`, parameters: [] }] })
    const { runWriteJob: original } = storage
    let isOvertaken = false
    storage.runWriteJob = async (job: never, input: never, options: never) => {
      if (!isOvertaken && (job as { module: string }).module.endsWith('/apply.ts')) {
        isOvertaken = true
        const models = JSON.stringify([modelOf('a.Thing', shape({ text: TEXT, later: TEXT }))])
        const row = { fingerprint: modelsFingerprint(JSON.parse(models)), models, at: new Date().toISOString() }
        await storage.db.insertInto('dossier_models').values(row).execute()
      }
      return original.call(storage, job, input, options) as never
    }
    await app.service.reload()
    const client = await app.login()
    while (!(await client.get('/ws/meta/fields/a.Thing')).text.includes('"later"')) await sleep(20)
    t.equal((await client.put('/ws/rest/a.Thing', { later: 'x' })).status, 200)
  })

  t.test('an unfinished index that a process has left turns nobody away', async (t) => {
    const shape = (properties: object) => ({ type: 'object', properties })
    const app = await startApp(t, { models: { 'a.Thing.json': shape({ code: TEXT, note: TEXT }) } })
    const client = await app.login()
    const shell = new pg.Client(app.config.DATABASE_URL)
    await shell.connect()
    t.teardown(() => shell.end())
    await client.put('/ws/rest/a.Thing', { code: '1' })
    await shell.query(`CREATE UNIQUE INDEX "a__Thing__code__unique" ON "a__Thing" (code);
      CREATE INDEX "a__Thing__note__index" ON "a__Thing" (note);
      UPDATE pg_index SET indisvalid = false WHERE indexrelid IN ('"a__Thing__code__unique"'::regclass, '"a__Thing__note__index"'::regclass)`)
    t.equal((await client.put('/ws/rest/a.Thing', { code: '1' })).status, 200)
    t.strictSame((await shell.query(`SELECT 1 FROM pg_indexes WHERE indexname LIKE 'a\\_\\_Thing\\_\\_%'`)).rows, [])
    await shell.query(`CREATE INDEX "a__Thing__note__index" ON "a__Thing" (note);
      UPDATE pg_index SET indisvalid = false WHERE indexrelid = '"a__Thing__note__index"'::regclass`)
    const note = Array.from({ length: 500 }, () => Math.random().toString(36)).join('')
    // On a busy machine the index may not be gone in time.
    let answer = await client.put('/ws/rest/a.Thing', { note })
    while (answer.status === 503) answer = await client.put('/ws/rest/a.Thing', { note })
    t.equal(answer.status, 200)
    // The service itself would look for leftovers as well, and hold the lock meanwhile.
    await app.service.stop()
    const storage = await openStorage({ DATA_DIR: emptyFolder(t), DATABASE_URL: app.config.DATABASE_URL })
    t.teardown(() => storage.close())
    // Somebody changes tables now: what is there is theirs.
    await shell.query('CREATE TABLE dossier_draft__x (id int)')
    t.equal(await hasLeftovers(storage), true)
    await storage.runExclusively?.(async () => t.equal(await hasLeftovers(storage), false))
    const failing = Object.assign(Object.create(storage), { runExclusively: () => Promise.reject(new Error('x')) })
    await t.rejects(hasLeftovers(failing), /^x$/)
    await shell.query('DROP TABLE dossier_draft__x')
  })

  t.test('a start waits neither for other transactions nor for what a process has left', async (t) => {
    const { storage, shell, other, rows } = await opened(t)
    const plain = thing({ code: TEXT, name: TEXT })
    await migrateTo(storage, [plain])
    await shell.query(`INSERT INTO "a__Thing" (code) SELECT n FROM generate_series(1, ${MAX_ROWS_TO_FILL + 1}) AS n`)
    await shell.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1')
    const orphaned = other.query('CREATE INDEX CONCURRENTLY "a__Thing__name__index" ON "a__Thing" (name)')
    orphaned.catch(() => {})
    const invalid = `SELECT 1 FROM pg_index WHERE indexrelid = to_regclass('"a__Thing__name__index"')`
    while (
      (await storage.db.executeQuery({ sql: invalid, parameters: [], query: { kind: 'RawNode' } } as never)).rows
        .length === 0
    )
      await sleep(5)
    t.strictSame(await storage.runWriteJob(BUILD, { models: [plain], isOptional: true }, { lockMs: 300 }), [])
    await t.rejects(orphaned, /terminat/)
    await migrate(storage, [thing({ code: { type: 'string', index: true }, name: TEXT })], { isStarting: true })
    await shell.query('COMMIT')
    t.match(await rows(`SELECT indisvalid FROM pg_index WHERE indexrelid = '"a__Thing__code__sort2"'::regclass`), [
      { indisvalid: true },
    ])
    // One that cannot be dropped now, because the table is in use.
    await shell.query(`CREATE INDEX "a__Thing__name__index" ON "a__Thing" (name);
      UPDATE pg_index SET indisvalid = false WHERE indexrelid = '"a__Thing__name__index"'::regclass`)
    await shell.query('BEGIN; SELECT count(*) FROM "a__Thing"')
    const indexed = thing({ code: { type: 'string', index: true }, name: TEXT })
    await storage.runWriteJob(BUILD, { models: [indexed], isOptional: true }, { lockMs: 300 })
    await t.rejects(storage.runWriteJob(BUILD, { models: [indexed], isOptional: false }, { lockMs: 300 }), {
      kind: 'busy',
    } as never)
    await shell.query('COMMIT')
    await migrate(storage, [indexed])
    t.strictSame(await rows(invalid), [])
  })

  t.test('large values are converted a few at a time, and no limit of the server ends a change', async (t) => {
    const { storage, shell, rows } = await opened(t)
    await migrateTo(storage, [thing({ text: TEXT })])
    await shell.query(`INSERT INTO "a__Thing" (text) SELECT '{"x":"' || repeat('y', 600000) || '"}' FROM generate_series(1, 4);
      INSERT INTO "a__Thing" (text) SELECT '{}' FROM generate_series(1, 3)`)
    await migrateTo(storage, [thing({ text: { type: 'object' } })])
    t.match(await rows('SELECT count(*)::int AS n, sum(length(text))::int AS size FROM "a__Thing"'), [
      { n: 7, size: 4 * 600_008 + 6 },
    ])
    const [{ name }] = (await rows('SELECT current_database() AS name')) as [{ name: string }]
    await shell.query(`ALTER DATABASE "${name}" SET statement_timeout = '1s'`)
    const slow = defineJob<undefined, void>(import.meta.resolve('./job.ts'), 'slow')
    await storage.runWriteJob(slow, undefined)
    t.pass()
  })
}
