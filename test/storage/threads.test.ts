import { EventEmitter } from 'node:events'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import type { Worker } from 'node:worker_threads'
import t from 'tap'
import { Asides } from '../../src/storage/asides.ts'
import { Searches } from '../../src/storage/searches.ts'
import { Groups } from '../../src/storage/sqlite/groups.ts'
import { SearchThread } from '../../src/storage/sqlite/searcher.ts'
import { inspect } from '../../src/storage/sqlite/sqlite.ts'
import { jobAt } from '../../src/storage/storage.ts'
import { standBack, startThread } from '../../src/storage/threads.ts'
import { WaitingRoom } from '../../src/storage/waiting-room.ts'
import { Walks } from '../../src/storage/walks.ts'
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
  await setTimeout(60)
  const late = write('late')
  await t.rejects(early, { name: 'StorageFault', message: /busy for too long/ })
  await t.rejects(late, { name: 'StorageFault', message: /busy for too long/ })
  thread.emit('message', JSON.stringify({ outcomes: [{ rows: [] }] }))
  t.strictSame(await first, [], 'what was under way is answered')
})

t.test('what waits to be written has a bound, in number and in size', async (t) => {
  const room = new WaitingRoom(() => {})
  const enter = (text: string) => room.enter({ steps: [{ sql: 'x', parameters: [text, 1] }] })
  const half = 'x'.repeat(32_000_000 - 1)
  const large = [enter(half), enter(half)]
  await t.rejects(enter(''), { name: 'StorageFault', message: /Too much is waiting/ }, 'not one character more')
  room.next()?.resolve([])
  const small = Array.from({ length: 4999 }, () => enter(''))
  await t.rejects(enter(''), { name: 'StorageFault', message: /Too much is waiting/ }, 'nor one more of them')
  const told = Promise.allSettled([...large, ...small])
  room.close(new Error('closed'))
  t.strictSame(new Set((await told).map(({ status }) => status)), new Set(['fulfilled', 'rejected']))
  await t.rejects(enter(''), /closed/)
})

t.test('a way through everything that does not end is made to, and has its place until then', async (t) => {
  const threads: Worker[] = []
  const startOne = () => {
    const thread = new EventEmitter()
    const terminate = async () => thread.emit('exit', 1)
    threads.push(Object.assign(thread, { postMessage: () => {}, terminate }) as unknown as Worker)
    return threads.at(-1) as Worker
  }
  const walks = new Walks(startOne, 50)
  const gone = new AbortController()
  const seeker = { username: 'ada', seconds: 60, bytes: 0, shapes: {} }
  const begin = (more = {}) =>
    walks.walk({ sql: '', parameters: [] }, { module: '', name: '' }, 0, { ...seeker, ...more }).next()
  const awake = setInterval(() => {}, 1000)
  t.teardown(() => clearInterval(awake))
  const unwanted = { name: 'StorageFault', kind: 'unwanted' } as unknown as Error
  const left = [1, 2].map(() => t.rejects(begin({ gone: gone.signal }), unwanted))
  gone.abort()
  await t.rejects(begin(), { name: 'StorageFault', message: /Too many/ }, 'they have gone, but their threads have not')
  await Promise.all(left)
  t.equal(walks.isUnderWay, false)
  await t.rejects(begin({ seconds: 0 }), unwanted, 'nor does one go on for ever that nobody has ended')
  t.equal(threads.length, 3)
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

t.test('a writer that dies takes nobody’s answer with it', async (t) => {
  const thread = Object.assign(new EventEmitter(), { postMessage: () => {} }) as unknown as Worker
  const groups = new Groups(thread, () => {})
  const write = () => groups.write({ steps: [{ sql: 'x', parameters: [] }] })
  const underWay = [write(), write()]
  await new Promise(setImmediate)
  const waiting = write()
  thread.emit('message', JSON.stringify({ committed: { commitMs: 1 } }))
  thread.emit('message', JSON.stringify({ outcomes: [{ rows: [] }] }))
  t.strictSame(await underWay[0], [], 'what was answered before')
  t.throws(() => thread.emit('error', new Error('out of memory')), /out of memory/, 'and the process is told')
  await t.rejects(underWay[1] as Promise<unknown>, { name: 'StorageFault' })
  await t.rejects(waiting, { name: 'StorageFault' })
  await t.rejects(write(), { name: 'StorageFault' })
  await groups.close()
})

t.test('threads that cannot start', async (t) => {
  const folder = emptyFolder(t)
  const search = new Searches((onDeath) => new SearchThread(join(folder, 'nowhere.db'), onDeath))
  const seeker = { username: 'ada', seconds: 1, bytes: 1, shapes: {} }
  const look = () => search.search({ sql: 'SELECT 1', parameters: [] }, seeker)
  await t.rejects(look(), { name: 'StorageFault', message: /has died/ })
  await t.rejects(look(), { name: 'StorageFault', message: /has died/ }, 'another one is tried')
  await search.close()
  const asides = new Asides(
    () =>
      startThread(import.meta.resolve('../../src/storage/sqlite/aside-thread.ts'), {
        file: join(folder, 'nowhere.db'),
      }),
    1,
  )
  for (let nth = 0; nth < 2; nth++)
    await t.rejects(asides.run({ module: 'no:module', name: 'run' }, {}), { code: 'SQLITE_CANTOPEN' })
  await setTimeout(100)
  await asides.close()
  const storage = await testStorage(t)
  const slow = storage.study(jobAt<undefined, string>(import.meta.resolve('./job.ts'), 'slow'), undefined)
  await storage.close()
  t.equal(await slow, 'done', 'who works is not waited for, and ends with its work')
})

t.test('a group that returns more than one message holds', async (t) => {
  const storage = await testStorage(t)
  const big = { sql: 'SELECT ? AS text', parameters: ['x'.repeat(300_000)] }
  const units = Array.from({ length: 150 }, () => storage.write({ steps: [big] }))
  const texts = (await Promise.all(units)).map(([rows]) => rows?.[0]?.text as string)
  t.ok(texts.every((text) => text.length === 300_000))
})
