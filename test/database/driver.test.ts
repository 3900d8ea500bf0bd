import { statSync } from 'node:fs'
import Sqlite from 'better-sqlite3'
import { sql } from 'kysely'
import t from 'tap'
import { type Database, databaseFile, openDatabase, selectNow, writeSoon } from '../../src/database/database.ts'
import { block, emptyFolder, testDatabase } from '../helper.ts'

async function counterTable(t: Parameters<typeof testDatabase>[0]): Promise<Database> {
  const db = await testDatabase(t)
  await sql`CREATE TABLE counter (id INTEGER PRIMARY KEY, name TEXT UNIQUE)`.execute(db)
  return db
}

const names = async (db: Database) =>
  (await db.selectFrom('counter').select('name').orderBy('id').execute()).map(({ name }) => name)

t.test('writes that arrive together: one that fails does not take its neighbours down', async (t) => {
  const db = await counterTable(t)
  const insert = (name: string) => db.insertInto('counter').values({ name }).execute()
  const results = await Promise.allSettled(['a', 'b', 'a', 'c'].map(insert))
  t.strictSame(
    results.map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'rejected', 'fulfilled'],
  )
  t.strictSame(await names(db), ['a', 'b', 'c'])
})

t.test('a transaction is kept apart from the writes and transactions around it', async (t) => {
  const db = await counterTable(t)
  const insert = (name: string) => db.insertInto('counter').values({ name }).execute()
  const transact = (first: string, second: string) =>
    db.transaction().execute(async (transaction) => {
      await transaction.insertInto('counter').values({ name: first }).execute()
      await new Promise((resolve) => setTimeout(resolve, 20))
      t.equal((await transaction.selectFrom('counter').select('name').where('name', '=', first).execute()).length, 1)
      await transaction.insertInto('counter').values({ name: second }).execute()
    })
  const failing = db.transaction().execute(async (transaction) => {
    await transaction.insertInto('counter').values({ name: 'never' }).execute()
    throw new Error('changed my mind')
  })
  const early = insert('before')
  const both = Promise.all([transact('x1', 'x2'), transact('y1', 'y2'), insert('alone')])
  await t.rejects(failing, { message: 'changed my mind' })
  await Promise.all([early, both])
  const order = await names(db)
  t.equal(order.indexOf('x2'), order.indexOf('x1') + 1)
  t.equal(order.indexOf('y2'), order.indexOf('y1') + 1)
  t.notOk(order.includes('never'))
  t.equal(order.length, 6)
})

t.test('reads see what was answered, and go on beside a transaction', async (t) => {
  const db = await counterTable(t)
  await db.insertInto('counter').values({ name: 'a' }).execute()
  await db.transaction().execute(async (transaction) => {
    await transaction.insertInto('counter').values({ name: 'b' }).execute()
    t.strictSame(await names(db), ['a'])
  })
  t.strictSame(await names(db), ['a', 'b'])
})

t.test('a reader sees what its own process commits at once, and those of others soon', async (t) => {
  const folder = emptyFolder(t)
  const here = openDatabase(folder)
  t.teardown(() => here.destroy())
  await sql`CREATE TABLE counter (id INTEGER PRIMARY KEY, name TEXT UNIQUE)`.execute(here)
  const all = here.selectFrom('counter').select('name').compile()
  const seen = () => selectNow<{ name: string }>(here, all, []).map(({ name }) => name)
  const other = new Sqlite(databaseFile(folder))
  t.teardown(() => other.close())
  t.strictSame(seen(), [])
  other.exec("INSERT INTO counter (name) VALUES ('theirs')")
  block(3)
  t.strictSame(seen(), ['theirs'], 'a moment is short')
  await here.insertInto('counter').values({ name: 'ours' }).execute()
  t.strictSame(seen(), ['theirs', 'ours'])
  other.exec("INSERT INTO counter (name) VALUES ('later')")
  await new Promise(setImmediate)
  await new Promise(setImmediate)
  t.strictSame(seen(), ['theirs', 'ours', 'later'], 'the next turn looks again')
})

t.test('reading all the time does not keep the log from starting over', async (t) => {
  const folder = emptyFolder(t)
  const db = openDatabase(folder)
  t.teardown(() => db.destroy())
  await sql`CREATE TABLE page (text TEXT)`.execute(db)
  const insert = db.insertInto('page').values({ text: '' }).compile()
  const look = db.selectFrom('page').select('text').limit(1).compile()
  for (let round = 0; round < 60; round++) {
    const writes = Array.from({ length: 100 }, () => writeSoon(db, insert, ['x'.repeat(4000)]))
    // After the writes, so that it is still open when they are committed.
    selectNow(db, look, look.parameters)
    await Promise.all(writes)
    await new Promise(setImmediate)
  }
  t.ok(statSync(`${databaseFile(folder)}-wal`).size < 12_000_000)
})

t.test('a commit that fails undoes the whole group and says so to each', async (t) => {
  const db = await counterTable(t)
  await sql`CREATE TABLE child (parent INTEGER REFERENCES counter DEFERRABLE INITIALLY DEFERRED)`.execute(db)
  const orphan = db.insertInto('child').values({ parent: 99 }).execute()
  const other = db.insertInto('counter').values({ name: 'a' }).execute()
  await t.rejects(orphan, { code: 'SQLITE_CONSTRAINT_FOREIGNKEY' })
  await t.rejects(other, { code: 'SQLITE_CONSTRAINT_FOREIGNKEY' })
  t.strictSame(await names(db), [])
  const transaction = db.transaction().execute((inner) => inner.insertInto('child').values({ parent: 99 }).execute())
  await t.rejects(transaction, { code: 'SQLITE_CONSTRAINT_FOREIGNKEY' })
  await db.insertInto('counter').values({ name: 'a' }).execute()
  t.strictSame(await names(db), ['a'], 'and all goes on')
})

t.test('a full database gives up the group, keeps what was there, and works again when there is room', async (t) => {
  const db = await counterTable(t)
  await db.insertInto('counter').values({ name: 'kept' }).execute()
  const pages = (await sql<{ page_count: number }>`PRAGMA page_count`.execute(db)).rows[0]?.page_count as number
  await sql`PRAGMA max_page_count = ${sql.raw(String(pages))}`.execute(db)
  const big = (name: string) =>
    db
      .insertInto('counter')
      .values({ name: name.repeat(20_000) })
      .execute()
  const results = await Promise.allSettled([
    db.insertInto('counter').values({ name: 'small' }).execute(),
    big('x'),
    big('y'),
  ])
  t.ok(results.some((result) => result.status === 'rejected' && result.reason.code === 'SQLITE_FULL'))
  t.equal((await names(db)).filter((name) => (name as string).length > 100).length, 0)
  await t.rejects(
    db.transaction().execute((inner) =>
      inner
        .insertInto('counter')
        .values({ name: 'z'.repeat(50_000) })
        .execute(),
    ),
    { code: 'SQLITE_FULL' },
  )
  await sql`PRAGMA max_page_count = 1000000`.execute(db)
  await big('x')
  t.ok((await names(db)).includes('kept'))
})

t.test('another process that holds the lock', async (t) => {
  const folder = emptyFolder(t)
  const db = await testDatabase(t, folder)
  const other = await testDatabase(t, folder)
  await sql`PRAGMA busy_timeout = 1`.execute(db)
  await other.transaction().execute(async (holder) => {
    await sql`CREATE TABLE x (a)`.execute(holder)
    await t.rejects(
      db.transaction().execute(async () => {}),
      { code: 'SQLITE_BUSY' },
    )
    await t.rejects(sql`CREATE TABLE y (a)`.execute(db), { code: 'SQLITE_BUSY' })
  })
  await sql`CREATE TABLE y (a)`.execute(db)
})

t.test('many different statements do not fill the memory', async (t) => {
  const db = await counterTable(t)
  const long = (i: number) => sql.raw(`${i}${' + 1'.repeat(500)}`)
  for (let i = 0; i < 300; i++)
    await db
      .selectFrom('counter')
      .select(sql<number>`${long(i)}`.as('n'))
      .execute()
  t.strictSame(await names(db), [])
})

t.test('what is still waiting is written when the database is closed', async (t) => {
  const folder = emptyFolder(t)
  const first = await testDatabase(t, folder)
  await sql`CREATE TABLE counter (id INTEGER PRIMARY KEY, name TEXT)`.execute(first)
  const pending = first.insertInto('counter').values({ name: 'last' }).execute()
  await new Promise<void>((resolve) => queueMicrotask(resolve))
  await new Promise<void>((resolve) => process.nextTick(resolve))
  await Promise.all([pending, first.destroy()])
  t.strictSame(await names(await testDatabase(t, folder)), ['last'])
})

t.test('streaming is refused', async (t) => {
  const db = await counterTable(t)
  await t.rejects(async () => {
    for await (const _ of db.selectFrom('counter').selectAll().stream()) t.fail('no row')
  }, /not supported/)
})
