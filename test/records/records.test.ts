import t from 'tap'
import { Cursors } from '../../src/model/cursor.ts'
import { recordsOf } from '../../src/records/records.ts'
import { migrate } from '../../src/tables/migrate.ts'
import { modelOf, testDatabase } from '../helper.ts'

t.test('who may not reach anything finds nothing, even past the plugins', async (t) => {
  const db = await testDatabase(t)
  const model = modelOf('a.Closed', {
    type: 'object',
    properties: { x: { type: 'string' } },
    access: { read: [], update: [], delete: [] },
  })
  await migrate(db, [model])
  const records = recordsOf({ db, models: new Map(), cursors: new Cursors('secret'), advise: () => {} }, model)
  const somebody = { username: 's', roles: [] }
  await records.create({ x: 'hidden' }, somebody)
  t.strictSame(await records.find({ offset: 0, limit: 10, sort: [], expand: [] }, somebody), {
    offset: 0,
    total: 0,
    data: [],
  })
  await t.rejects(records.read(1, somebody, { expand: [] }), { code: 'RECORD_NOT_FOUND' })
  await t.rejects(records.update(1, 0, { x: 'y' }, somebody), { code: 'RECORD_NOT_FOUND' })
  await t.rejects(records.remove(1, undefined, somebody), { code: 'RECORD_NOT_FOUND' })
})
