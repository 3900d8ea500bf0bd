import { CompiledQuery, sql } from 'kysely'
import t from 'tap'
import { createIndexAdvisor } from '../../src/records/find/index-advice.ts'
import { sqliteOnly } from '../engine.ts'
import { migrateTo, modelOf, testStorage } from '../helper.ts'

t.test('no more queries are remembered than there is room for', sqliteOnly, async (t) => {
  const storage = await testStorage(t)
  const { db } = storage
  const model = modelOf('a.B', { type: 'object', properties: { x: { type: 'string' } } })
  await migrateTo(storage, [model])
  await sql`INSERT INTO "a__B" (id) VALUES (20000)`.execute(db)
  const given: string[] = []
  const consider = createIndexAdvisor(storage, model, (advice) => given.push(advice))
  const [field] = model.fields as [(typeof model.fields)[0]]
  const query = { offset: 0, limit: 1, sort: [{ through: [], field, descending: false }], expand: [] }
  for (let i = 0; i < 1010; i++) await consider(query, CompiledQuery.raw(`SELECT ${i} FROM "a__B" ORDER BY x`))
  t.equal(given.length, 1000)
})
