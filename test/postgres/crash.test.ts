import { join } from 'node:path'
import t from 'tap'
import { changeUnderLoad } from '../crash/changes-under-load.ts'
import { changeModelsWhileAway } from '../crash/database-outage.ts'
import { crashNodes } from '../crash/nodes.ts'
import { postgresDatabase } from '../engine.ts'
import { emptyFolder } from '../helper.ts'
import { hasServer } from './run-on-postgres.ts'

if (hasServer()) {
  t.test(
    'connections are cut, the database is ended, a node is killed or sleeps, while many write and their model changes',
    async (t) => {
      t.strictSame(await crashNodes(join(emptyFolder(t), 'nodes'), 6, () => {}), [], 'each thing was done once')
    },
  )

  t.test('no request fails while models change again and again, and a node is killed', async (t) => {
    process.env.DATABASE_URL = await postgresDatabase(t)
    const faults = await changeUnderLoad(join(emptyFolder(t), 'steady'), { edits: 5, killEvery: 3 })
    delete process.env.DATABASE_URL
    t.strictSame(faults, [])
  })

  t.test('the database is away while models change: it is told, and the change is followed later', async (t) => {
    t.strictSame(await changeModelsWhileAway(join(emptyFolder(t), 'away'), 3, () => {}), [])
  })
}
