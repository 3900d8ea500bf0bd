import { sql } from 'kysely'
import t from 'tap'
import { testStorage } from '../helper.ts'

t.test('durable, with foreign keys, and open to a look at its tables', async (t) => {
  const storage = await testStorage(t)
  const { db } = storage
  const pragma = async (name: string) =>
    Object.values((await sql`PRAGMA ${sql.raw(name)}`.execute(db)).rows[0] as object)[0]
  t.equal(await pragma('journal_mode'), 'wal')
  t.equal(await pragma('synchronous'), 2, 'FULL: an answered write survives a power cut')
  t.equal(await pragma('foreign_keys'), 1)
  const tables = await db.introspection.getTables()
  t.ok(tables.some(({ name }) => name === 'dossier_users'))
})
