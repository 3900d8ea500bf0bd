import { EventEmitter } from 'node:events'
import type { Worker } from 'node:worker_threads'
import t from 'tap'
import { inspect } from '../../src/storage/open.ts'
import { Groups } from '../../src/storage/sqlite/groups.ts'
import { standBack } from '../../src/storage/sqlite/threads.ts'
import { emptyFolder, testStorage } from '../helper.ts'

t.test('who has waited for the writer for too long is told so', async (t) => {
  const thread = Object.assign(new EventEmitter(), { postMessage: () => {} }) as unknown as Worker
  const groups = new Groups(thread, () => {}, 100)
  const write = (name: string) => groups.write({ steps: [{ sql: name, parameters: [] }] })
  // The clock of impatience keeps no process alive.
  const awake = setInterval(() => {}, 1000)
  t.teardown(() => clearInterval(awake))
  const first = write('under way')
  await new Promise(setImmediate)
  const early = write('early')
  await new Promise((resolve) => setTimeout(resolve, 60))
  const late = write('late')
  await t.rejects(early, { name: 'StorageFault', message: /busy for too long/ })
  await t.rejects(late, { name: 'StorageFault', message: /busy for too long/ })
  thread.emit('message', JSON.stringify({ group: { outcomes: [{ rows: [] }], commitMs: 1 } }))
  t.strictSame(await first, [], 'what was under way is answered')
})

t.test('where threads have no numbers, all are alike', async (t) => {
  standBack('/nowhere')
  t.pass('nothing happened')
})

t.test('a database that is not there cannot be looked at', async (t) => {
  const folder = emptyFolder(t)
  await t.rejects(
    inspect(folder, async () => 1),
    { message: `There is no database in ${folder}.` },
  )
})

t.test('a look at what is not there says so', async (t) => {
  const storage = await testStorage(t)
  const statement = { sql: 'SELECT * FROM nowhere', parameters: [] }
  t.throws(() => storage.read(statement), { name: 'StorageFault' })
  t.throws(() => storage.readOne(statement), { name: 'StorageFault' })
})
