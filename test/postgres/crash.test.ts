import { join } from 'node:path'
import t from 'tap'
import { crashNodes } from '../crash/nodes.ts'
import { emptyFolder } from '../helper.ts'
import { hasServer } from './run-on-postgres.ts'

if (hasServer())
  t.test('connections are cut, the database is ended and a node is killed, while many write', async (t) => {
    t.strictSame(await crashNodes(join(emptyFolder(t), 'nodes'), 3, () => {}), [], 'each thing was done once')
  })
