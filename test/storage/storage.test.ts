import { rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { sql } from 'kysely'
import t from 'tap'
import { databaseFile } from '../../src/storage/sqlite/connections.ts'
import { openStorage } from '../../src/storage/sqlite/engine.ts'
import { defineJob, type Row, type Storage } from '../../src/storage/storage.ts'
import { block, emptyFolder, testStorage } from '../helper.ts'

async function counterTable(t: Parameters<typeof testStorage>[0], folder?: string): Promise<Storage> {
  const storage = await testStorage(t, folder)
  await sql`CREATE TABLE counter (id INTEGER PRIMARY KEY, name TEXT UNIQUE)`.execute(storage.db)
  return storage
}

const fault = (kind: string) => ({ kind }) as unknown as Error
const insert = (name: string) => ({ sql: 'INSERT INTO counter (name) VALUES (?) RETURNING id', parameters: [name] })
const names = ({ db }: Storage) =>
  db
    .selectFrom('counter')
    .select('name')
    .orderBy('id')
    .execute()
    .then((rows) => rows.map(({ name }) => name))

t.test('units that arrive together: one that fails does not take its neighbours down', async (t) => {
  const storage = await counterTable(t)
  const results = await Promise.allSettled(['a', 'b', 'a', 'c'].map((name) => storage.write({ steps: [insert(name)] })))
  t.strictSame(
    results.map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'rejected', 'fulfilled'],
  )
  t.match(results[2], { reason: { kind: 'taken', details: { columns: ['name'] } } })
  t.strictSame(await names(storage), ['a', 'b', 'c'])
})

t.test('a unit is carried out whole or not at all, and hands on what it has found', async (t) => {
  const storage = await counterTable(t)
  const pair = await storage.write({
    steps: [
      insert('one'),
      { sql: 'SELECT ? AS first, ? AS text', parameters: [{ step: 0, column: 'id' }, null] },
      insert('two'),
    ],
  })
  t.strictSame(pair, [[{ id: 1 }], [{ first: 1, text: null }], [{ id: 2 }]])
  const known = { sql: `INSERT INTO dossier_tables (tbl, shape) VALUES ('counter', 'this')`, parameters: [] }
  await storage.write({ steps: [known] })
  const units = [
    { steps: [insert('three'), insert('one')] },
    { steps: [insert('four'), { sql: 'SELECT 1 WHERE false', parameters: [], mustReturnRow: true }] },
    { shapes: { counter: 'another' }, steps: [insert('five')] },
    { shapes: { counter: 'this' }, steps: [insert('six'), insert('seven')] },
    { steps: [insert('large'), insert('larger')], maxBytes: 10 },
    { steps: [insert('eight'), { sql: "SELECT json('{')", parameters: [] }] },
  ]
  const results = await Promise.allSettled(units.map((unit) => storage.write(unit)))
  t.match(results, [
    { reason: { kind: 'taken' } },
    { reason: { kind: 'no-row', details: { step: 1 } } },
    { reason: { kind: 'stale' } },
    { status: 'fulfilled' },
    { reason: { kind: 'large', details: { step: 1 } } },
    { reason: { message: /malformed JSON/ } },
  ])
  t.strictSame(await names(storage), ['one', 'two', 'six', 'seven'])
})

t.test('an open transaction is not to be had', async (t) => {
  const { db } = await testStorage(t)
  await t.rejects(
    db.transaction().execute(async () => {}),
    /write a unit of work/,
  )
  await t.rejects(async () => {
    for await (const _ of db.selectFrom('dossier_users').selectAll().stream()) t.fail('no row')
  }, /not supported/)
})

t.test('a reader sees what its own process commits at once, and those of others soon', async (t) => {
  const folder = emptyFolder(t)
  const storage = await counterTable(t, folder)
  const all = { sql: 'SELECT name FROM counter ORDER BY id', parameters: [] }
  const seen = () => (storage.read(all) as Row[]).map(({ name }) => name)
  const other = new Sqlite(databaseFile(join(folder, 'data')))
  t.teardown(() => other.close())
  t.strictSame(seen(), [])
  other.exec("INSERT INTO counter (name) VALUES ('theirs')")
  block(3)
  t.strictSame(seen(), ['theirs'], 'a moment is short')
  await storage.write({ steps: [insert('ours')] })
  t.strictSame(seen(), ['theirs', 'ours'])
  other.exec("INSERT INTO counter (name) VALUES ('later')")
  await new Promise(setImmediate)
  await new Promise(setImmediate)
  t.strictSame(seen(), ['theirs', 'ours', 'later'], 'the next turn looks again')
})

t.test('reading all the time does not keep the log from starting over', async (t) => {
  const folder = emptyFolder(t)
  const storage = await testStorage(t, folder)
  await sql`CREATE TABLE page (text TEXT)`.execute(storage.db)
  const write = { sql: 'INSERT INTO page VALUES (?)', parameters: ['x'.repeat(4000)] }
  const look = { sql: 'SELECT text FROM page LIMIT 1', parameters: [] }
  let isReading = true
  const reading = (async () => {
    for (; isReading; await new Promise(setImmediate)) await storage.read(look)
  })()
  for (let round = 0; round < 100; round++)
    await Promise.all(Array.from({ length: 100 }, () => storage.write({ steps: [write] })))
  isReading = false
  await reading
  t.ok(statSync(`${databaseFile(join(folder, 'data'))}-wal`).size < 20_000_000)
})

t.test('a commit that fails undoes what it was about, and says so', async (t) => {
  const storage = await counterTable(t)
  await sql`CREATE TABLE child (parent INTEGER REFERENCES counter DEFERRABLE INITIALLY DEFERRED)`.execute(storage.db)
  const orphan = storage.write({ steps: [{ sql: 'INSERT INTO child VALUES (99)', parameters: [] }] })
  const other = storage.write({ steps: [insert('a')] })
  await t.rejects(orphan, fault('dangling'))
  t.strictSame(await other, [[{ id: 1 }]], 'its neighbour is tried again alone')
  t.strictSame(await names(storage), ['a'])
})

t.test('a unit that ends the transaction of its group does not take its neighbours down', async (t) => {
  const storage = await counterTable(t)
  const first = storage.write({ steps: [insert('a')] })
  const odd = storage.write({
    steps: [
      { sql: 'ROLLBACK', parameters: [] },
      { sql: 'SELECT * FROM nowhere', parameters: [] },
    ],
  })
  await t.rejects(odd, fault('missing-table'))
  t.strictSame(await first, [[{ id: 1 }]])
})

t.test('a full database keeps what was there, and works again when there is room', async (t) => {
  const storage = await counterTable(t)
  await storage.write({ steps: [insert('kept')] })
  const [row] = (await sql<{ page_count: number }>`PRAGMA page_count`.execute(storage.db)).rows
  await sql`PRAGMA max_page_count = ${sql.raw(String(row?.page_count))}`.execute(storage.db)
  const big = (name: string) => storage.write({ steps: [insert(name.repeat(20_000))] })
  const pair = storage.write({ steps: [insert('p'), insert('q'.repeat(30_000))] })
  const results = await Promise.allSettled([storage.write({ steps: [insert('small')] }), big('x'), pair, big('y')])
  t.match(results.slice(1), [{ reason: { kind: 'full' } }, { reason: { kind: 'full' } }, { reason: { kind: 'full' } }])
  t.equal(results[0]?.status, 'fulfilled', 'there was room for the small one')
  t.strictSame(await names(storage), ['kept', 'small'])
  await sql`PRAGMA max_page_count = 1000000`.execute(storage.db)
  await big('x')
  t.equal((await names(storage)).length, 3)
})

t.test('another process that holds the lock holds up nobody but who writes', async (t) => {
  const folder = emptyFolder(t)
  const storage = await counterTable(t, folder)
  await sql`PRAGMA busy_timeout = 50`.execute(storage.db)
  const other = new Sqlite(databaseFile(join(folder, 'data')))
  t.teardown(() => other.close())
  other.exec('BEGIN IMMEDIATE')
  const refused = [storage.write({ steps: [insert('a')] }), storage.write({ steps: [insert('b')] })]
  t.strictSame(storage.read({ sql: 'SELECT 1 AS one', parameters: [] }), [{ one: 1 }], 'reads go on')
  for (const write of refused) await t.rejects(write, fault('busy'))
  await t.rejects(storage.runWriteJob(defineJob(import.meta.resolve('./write-name-job.ts'), 'run'), 'x'), fault('busy'))
  other.exec('ROLLBACK')
  await storage.write({ steps: [insert('c')] })
  t.strictSame(await names(storage), ['c'])
})

t.test('how much room it takes', async (t) => {
  const folder = emptyFolder(t)
  const storage = await counterTable(t, folder)
  t.match(await storage.stats(), { database: Number, log: Number })
  rmSync(`${databaseFile(join(folder, 'data'))}-wal`)
  t.match(await storage.stats(), { log: 0 })
})

t.test('jobs: one transaction, on another thread; what they throw undoes everything', async (t) => {
  const storage = await counterTable(t)
  const job = defineJob<string, string[]>(import.meta.resolve('./write-name-job.ts'), 'run')
  t.strictSame(await storage.runWriteJob(job, 'hello'), ['hello'])
  let swapped: unknown[] = []
  const read = () =>
    (storage.read({ sql: 'SELECT name FROM counter', parameters: [] }) as Row[]).map(({ name }) => name)
  await storage.runWriteJob(job, 'there', {
    afterCommit: () => {
      swapped = read()
    },
  })
  t.strictSame(swapped, ['hello'], 'until the swap everything is read as it was')
  t.strictSame(read(), ['hello', 'there'])
  await t.rejects(storage.runWriteJob(job, 'refused'), { name: 'Refused', reasons: ['it cannot be', 'nor that'] })
  await t.rejects(storage.runWriteJob(job, 'broken'), { message: 'out of the blue' })
  await t.rejects(storage.runReadJob(job, 'hello'), { code: 'SQLITE_READONLY' })
  t.strictSame(read(), ['hello', 'there'])
  const look = defineJob<string, string[]>(import.meta.resolve('./read-names-job.ts'), 'run')
  t.strictSame(await storage.runReadJob(look, 'counter'), ['hello', 'there'])
  await t.rejects(storage.runReadJob(look, 'nowhere'), fault('missing-table'))
})

t.test('many different statements do not fill the memory', async (t) => {
  const storage = await counterTable(t)
  for (let i = 0; i < 300; i++) await storage.read({ sql: `SELECT ${i}${' + 1'.repeat(500)} AS n`, parameters: [] })
  t.strictSame(await names(storage), [])
})

t.test('more than can be written is not remembered', async (t) => {
  const storage = await counterTable(t)
  const text = 'x'.repeat(5_000_000)
  const writes = Array.from({ length: 15 }, (_, i) => storage.write({ steps: [insert(`${i}${text}`)] }))
  const results = await Promise.allSettled(writes)
  t.equal(results.filter(({ status }) => status === 'fulfilled').length, 12)
  t.match(results.at(-1), { reason: { kind: 'busy' } })
})

t.test('what is still waiting is written when the storage is closed', async (t) => {
  const folder = emptyFolder(t)
  const first = await openStorage(join(folder, 'data'))
  await sql`CREATE TABLE counter (id INTEGER PRIMARY KEY, name TEXT)`.execute(first.db)
  const pending = first.write({ steps: [insert('last')] })
  await Promise.all([pending, first.close()])
  t.strictSame(await names(await testStorage(t, folder)), ['last'])
})

t.test('a closed storage rejects writes as busy', async (t) => {
  const storage = await counterTable(t)
  await storage.close()
  await t.rejects(storage.write({ steps: [insert('late')] }), fault('busy'))
})

t.test('of several drafts of a model the latest stays one, and none is lost', async (t) => {
  const folder = emptyFolder(t)
  await (await openStorage(folder)).close()
  const old = new Sqlite(databaseFile(folder))
  old.exec(`DROP INDEX dossier_model_files_one; PRAGMA user_version = 12;
    INSERT INTO dossier_model_files (model, kind, content, author, at) VALUES
      ('a.A', 'draft', '1', 'ada', 1), ('a.A', 'draft', '2', 'bob', 2), ('a.A', 'earlier', '3', 'ada', 3), ('a.B', 'draft', '4', 'ada', 4)`)
  old.close()
  const storage = await openStorage(folder)
  t.teardown(() => storage.close())
  t.strictSame(storage.read({ sql: 'SELECT content, kind FROM dossier_model_files ORDER BY id', parameters: [] }), [
    { content: '1', kind: 'earlier' },
    { content: '2', kind: 'draft' },
    { content: '3', kind: 'earlier' },
    { content: '4', kind: 'draft' },
  ])
  const again = `INSERT INTO dossier_model_files (model, kind, content, author, at) VALUES ('a.B', 'draft', '', '', 0)`
  const refused = await storage.write({ steps: [{ sql: again, parameters: [] }] }).catch((error: unknown) => error)
  t.match(refused, { kind: 'taken' })
})

t.test('a database of an earlier layout is brought up to date, and keeps what it has', async (t) => {
  const folder = emptyFolder(t)
  const storage = await openStorage(folder)
  await storage.close()
  const old = new Sqlite(databaseFile(folder))
  old.exec(`DROP TABLE dossier_tables; DROP TABLE dossier_actor; DROP TABLE dossier_changes; DROP TABLE dossier_renames; DROP TABLE dossier_secrets; DROP TABLE dossier_migrations;
    DROP TABLE dossier_drafts; DROP TABLE dossier_marks; DROP TABLE dossier_former; DROP TABLE dossier_keys; DROP TABLE dossier_tokens;
    DROP TABLE dossier_unsorted; DROP TABLE dossier_search; DROP TABLE dossier_unsearched;
    DROP TABLE dossier_restores; DROP TABLE dossier_views; DROP TABLE dossier_model_files; DROP TABLE dossier_state; ALTER TABLE dossier_users DROP COLUMN lastAddress;
    ALTER TABLE dossier_users DROP COLUMN attributes; ALTER TABLE dossier_users DROP COLUMN rightsSince;
    DROP INDEX dossier_sessions_used; CREATE INDEX dossier_sessions_username ON dossier_sessions (username);
    DROP INDEX dossier_attempts_at; DROP INDEX dossier_sessions_created; DROP INDEX dossier_sessions_seen;
    INSERT INTO dossier_users VALUES ('ada', 'x', '[]', 1, 0, NULL); PRAGMA user_version = 1`)
  old.close()
  const again = await openStorage(folder)
  t.teardown(() => again.close())
  t.strictSame(again.read({ sql: 'SELECT username FROM dossier_users', parameters: [] }), [{ username: 'ada' }])
  t.strictSame(again.read({ sql: 'SELECT * FROM dossier_actor', parameters: [] }), [
    { id: 1, username: null, operation: null, batch: null },
  ])
  t.strictSame(again.read({ sql: 'SELECT * FROM dossier_migrations', parameters: [] }), [])
})
