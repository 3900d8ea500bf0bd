import { join } from 'node:path'
import t from 'tap'
import { changeModelsWhileAway } from '../crash/away.ts'
import { crashNodes } from '../crash/nodes.ts'
import { emptyFolder } from '../helper.ts'
import { hasServer } from './run-on-postgres.ts'

if (hasServer()) {
  t.test(
    'connections are cut, the database is ended, a node is killed or sleeps, while many write and their model changes',
    async (t) => {
      t.strictSame(await crashNodes(join(emptyFolder(t), 'nodes'), 6, () => {}), [], 'each thing was done once')
    },
  )

  t.test('the database is away while models change: it is told, and the change is followed later', async (t) => {
    t.strictSame(await changeModelsWhileAway(join(emptyFolder(t), 'away'), 3, () => {}), [])
  })
}
