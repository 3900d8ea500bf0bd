import t from 'tap'
import { hasServer } from './run-on-postgres.ts'

const isThere = hasServer()
process.env.TEST_ENGINE = 'postgres'
const { startApp } = await import('../helper.ts')

const THINGS = '/ws/rest/a.Thing'
const MODEL = {
  type: 'object',
  properties: { text: { type: 'string' }, code: { type: 'string' }, more: { type: 'object' } },
  unique: [['code']],
}

if (isThere)
  t.test('what PostgreSQL cannot index is told by its field', async (t) => {
    const app = await startApp(t, { models: { 'a.Thing.json': MODEL } })
    const admin = await app.login()
    const refused = { code: 'VALIDATION_FAILED', errors: { code: 'is too long to be indexed' } }
    const long = Array.from({ length: 9000 }, (_, nth) => String.fromCharCode(0x4e00 + ((nth * 7919) % 20_000))).join(
      '',
    )
    t.match((await admin.put(THINGS, { code: long })).body, refused)
    const { body } = await admin.put(THINGS, { text: long })
    t.match(body.data, [{ text: long }], 'elsewhere it may be as long')
    const batch = [
      { create: 'a.Thing', data: {} },
      { create: 'a.Thing', data: { code: long } },
    ]
    t.match((await admin.post('/ws/batch', batch)).body, { ...refused, at: 1 })
    t.match((await admin.get(THINGS)).body, { total: 1 })
  })
