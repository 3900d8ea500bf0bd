import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { sql } from 'kysely'
import t from 'tap'
import { backupDatabase, checkCopy } from '../../src/storage/sqlite/backup.ts'
import { databaseFile } from '../../src/storage/sqlite/connections.ts'
import { emptyFolder, testStorage } from '../helper.ts'

t.test('a consistent copy while others write', async (t) => {
  const folder = emptyFolder(t)
  const storage = await testStorage(t, folder)
  const { db } = storage
  await sql`CREATE TABLE x (id INTEGER PRIMARY KEY, text TEXT)`.execute(db)
  for (let i = 0; i < 20; i++)
    await db
      .insertInto('x')
      .values(Array.from({ length: 500 }, () => ({ text: 'y'.repeat(500) })))
      .execute()
  const target = join(folder, 'data', 'backups', 'copy.db')
  const seen: number[] = []
  let writing = true
  const writer = (async () => {
    while (writing) await db.insertInto('x').values({ text: 'later' }).execute()
  })()
  await backupDatabase(databaseFile(join(folder, 'data')), target, ({ done, of }) => seen.push(of - done))
  writing = false
  await writer
  t.ok(
    seen.length > 2 && seen.every((pages, index) => index === 0 || pages <= (seen[index - 1] as number)),
    'it never starts over',
  )
  t.strictSame(readdirSync(join(folder, 'data', 'backups')), ['copy.db'], 'nothing else is left')
  const copy = new Sqlite(target, { readonly: true })
  t.equal(copy.prepare('SELECT count(*) FROM x').pluck().get(), 10_000, 'as it was when it began')
  copy.close()
  await backupDatabase(databaseFile(join(folder, 'data')), target)
})

t.test('a copy that is not whole is not taken for one', async (t) => {
  const folder = emptyFolder(t)
  writeFileSync(join(folder, 'text.db'), 'this is not a database, however long it may be'.repeat(100))
  t.throws(() => checkCopy(join(folder, 'text.db')), { code: 'SQLITE_NOTADB' })
  await t.rejects(backupDatabase(join(folder, 'nothing.db'), join(folder, 'copy.db')))
  t.notOk(existsSync(join(folder, 'copy.db')))
  const broken = new Sqlite(join(folder, 'dangling.db'))
  broken.exec(
    'PRAGMA foreign_keys = off; CREATE TABLE dossier_users (x); CREATE TABLE a (id INTEGER PRIMARY KEY); CREATE TABLE b (a INTEGER REFERENCES a); INSERT INTO b VALUES (1)',
  )
  broken.close()
  t.throws(() => checkCopy(join(folder, 'dangling.db')), /1 references lead nowhere/)
  const odd = new Sqlite(join(folder, 'odd.db'))
  odd.exec('CREATE TABLE dossier_users (x); CREATE TABLE a (x INTEGER NOT NULL); INSERT INTO a VALUES (1)')
  odd.unsafeMode(true)
  odd.exec(
    "PRAGMA writable_schema = on; UPDATE sqlite_schema SET sql = 'CREATE TABLE a (x TEXT CHECK (x > 5))' WHERE name = 'a'",
  )
  odd.close()
  t.throws(() => checkCopy(join(folder, 'odd.db')), /odd\.db is damaged: /)
})
