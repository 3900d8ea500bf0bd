import { EventEmitter } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Worker } from 'node:worker_threads'
import t from 'tap'
import { lowerPriority, startThread } from '../../src/lib/threads.ts'
import { JobPool } from '../../src/storage/job-pool.ts'
import { PendingUnits } from '../../src/storage/pending-units.ts'
import { RowStreams } from '../../src/storage/row-streams.ts'
import { Searches } from '../../src/storage/searches.ts'
import { inspectDatabase } from '../../src/storage/sqlite/engine.ts'
import { Reader } from '../../src/storage/sqlite/reader.ts'
import { SearchThreadHandle } from '../../src/storage/sqlite/search-thread-handle.ts'
import { WriteQueue } from '../../src/storage/sqlite/write-queue.ts'
import { defineJob, type FaultKind, isUnavailable, StorageFault } from '../../src/storage/storage.ts'
import { emptyFolder, testStorage } from '../helper.ts'

t.test('who has waited for the writer for too long is told so', async (t) => {
  const thread = Object.assign(new EventEmitter(), { postMessage: () => {} }) as unknown as Worker
  const groups = new WriteQueue(thread, () => {}, 100)
  const write = (name: string) => groups.write({ steps: [{ sql: name, parameters: [] }] })
  // The clock of impatience keeps no process alive.
  const awake = setInterval(() => {}, 1000)
  t.teardown(() => clearInterval(awake))
  const first = write('under way')
  await new Promise(setImmediate)
  const early = write('early')
  await sleep(60)
  const late = write('late')
  await t.rejects(early, { name: 'StorageFault', message: /busy for too long/ })
  await t.rejects(late, { name: 'StorageFault', message: /busy for too long/ })
  thread.emit('message', JSON.stringify({ outcomes: [{ rows: [] }] }))
  t.strictSame(await first, [], 'what was under way is answered')
})

t.test('what waits to be written has a bound, in number and in size', async (t) => {
  const room = new PendingUnits(() => {})
  const enter = (text: string) => room.add({ steps: [{ sql: 'x', parameters: [text, 1] }] })
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
  const rowStreams = new RowStreams(startOne, 50)
  const gone = new AbortController()
  const options = { username: 'ada', seconds: 60, bytes: 0, shapes: {} }
  const begin = (more = {}) =>
    rowStreams.stream({ sql: '', parameters: [] }, { module: '', name: '' }, 0, { ...options, ...more }).next()
  const awake = setInterval(() => {}, 1000)
  t.teardown(() => clearInterval(awake))
  const unwanted = { name: 'StorageFault', kind: 'cancelled' } as unknown as Error
  const left = [1, 2].map(() => t.rejects(begin({ signal: gone.signal }), unwanted))
  gone.abort()
  await t.rejects(begin(), { name: 'StorageFault', message: /Too many/ }, 'they have gone, but their threads have not')
  await Promise.all(left)
  t.equal(rowStreams.isUnderWay, false)
  const slow = { name: 'StorageFault', kind: 'slow' } as unknown as Error
  await t.rejects(begin({ seconds: 0 }), slow, 'nor does one go on for ever that nobody has ended')
  t.equal(threads.length, 3)
})

t.test('which faults may be gone at the next try', async (t) => {
  const kinds: FaultKind[] = ['busy', 'commit-unknown', 'full', 'taken']
  t.strictSame(
    kinds.filter((kind) => isUnavailable(new StorageFault(kind, ''))),
    ['busy', 'commit-unknown'],
  )
  t.notOk(isUnavailable(new Error('busy')))
})

t.test('where threads have no numbers, all are alike', async (t) => {
  lowerPriority('/nowhere')
  t.pass('nothing happened')
})

t.test('a database that is not there cannot be looked at', async (t) => {
  const folder = emptyFolder(t)
  await t.rejects(
    inspectDatabase(folder, async () => 1),
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
  const groups = new WriteQueue(thread, () => {})
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
  const search = new Searches((onDeath) => new SearchThreadHandle(join(folder, 'nowhere.db'), onDeath))
  const options = { username: 'ada', seconds: 1, bytes: 1, shapes: {} }
  const look = () => search.search({ sql: 'SELECT 1', parameters: [] }, options)
  await t.rejects(look(), { name: 'StorageFault', message: /has died/ })
  await t.rejects(look(), { name: 'StorageFault', message: /has died/ }, 'another one is tried')
  await search.close()
  const jobPool = new JobPool(
    () =>
      startThread(import.meta.resolve('../../src/storage/sqlite/job-thread.ts'), {
        file: join(folder, 'nowhere.db'),
      }),
    1,
  )
  for (let nth = 0; nth < 2; nth++)
    await t.rejects(jobPool.run({ module: 'no:module', name: 'run' }, {}), { code: 'SQLITE_CANTOPEN' })
  await sleep(100)
  await jobPool.close()
  const storage = await testStorage(t)
  const slow = storage.runReadJob(
    defineJob<undefined, string>(import.meta.resolve('./write-name-job.ts'), 'slow'),
    undefined,
  )
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

t.test('while the log is emptied, exports wait to begin, and those that nobody reads are ended', async (t) => {
  const threads: (EventEmitter & { told: unknown[] })[] = []
  const startOne = () => {
    const thread = Object.assign(new EventEmitter(), { told: [] as unknown[], terminate: async () => 0 })
    const postMessage = (message: unknown) => {
      thread.told.push(message)
      if (message === 'end') setImmediate(() => thread.emit('exit', 0))
    }
    threads.push(thread)
    return Object.assign(thread, { postMessage }) as unknown as Worker
  }
  const rowStreams = new RowStreams(startOne, 60_000)
  const options = (more = {}) => ({ username: 'ada', seconds: 60, bytes: 0, shapes: {}, ...more })
  const begin = (more = {}) =>
    rowStreams.stream({ sql: '', parameters: [] }, { module: '', name: '' }, 0, options(more))
  const awake = setInterval(() => {}, 1000)
  t.teardown(() => clearInterval(awake))

  rowStreams.pause()
  rowStreams.pause()
  const held = begin().next()
  const gone = new AbortController()
  const left = begin({ username: 'bob', signal: gone.signal }).next()
  await new Promise(setImmediate)
  t.equal(threads.length, 0, 'none has begun')
  t.equal(rowStreams.isUnderWay, false)
  gone.abort()
  rowStreams.resume()
  await t.rejects(left, { name: 'StorageFault', kind: 'cancelled' } as unknown as Error)
  while (threads.length === 0) await new Promise(setImmediate)
  t.equal(rowStreams.isUnderWay, true)
  rowStreams.endSlow(1000)
  threads[0]?.emit('message', { bytes: new Uint8Array(1), rows: 1 })
  await held
  await sleep(20)
  rowStreams.endSlow(60_000)
  t.strictSame(threads[0]?.told, [])
  rowStreams.endSlow(5)
  t.strictSame(threads[0]?.told, ['end'], 'its reader has let it wait')
  while (rowStreams.isUnderWay) await new Promise(setImmediate)
  await rowStreams.close()
  const closing = new RowStreams(startOne, 60_000)
  closing.pause()
  const waiting = closing.stream(
    { sql: '', parameters: [] },
    { module: '', name: '' },
    0,
    options({ signal: gone.signal }),
  )
  await t.rejects(waiting.next(), { kind: 'cancelled' } as unknown as Error)
  const held2 = closing.stream({ sql: '', parameters: [] }, { module: '', name: '' }, 0, options()).next()
  await closing.close()
  while (threads.length < 2) await new Promise(setImmediate)
  threads[1]?.emit('exit', 0)
  await t.rejects(held2, { kind: 'cancelled' } as unknown as Error)
  const impatient = new RowStreams(startOne, 60_000, 5)
  impatient.pause()
  const one = impatient.stream({ sql: '', parameters: [] }, { module: '', name: '' }, 0, options())
  await t.rejects(one.next(), { name: 'StorageFault', message: /is being emptied/ })
})

t.test('what one user has waiting is bounded, and a single unit is written however large it is', async (t) => {
  const room = new PendingUnits(() => {})
  const enter = (by: string, text: string) => room.add({ by, steps: [{ sql: 'x', parameters: [text] }] })
  const large = enter('ada', 'x'.repeat(100_000_000))
  await t.rejects(enter('ada', ''), { message: /Too much/ })
  room.next()?.resolve([])
  await large
  const half = enter('ada', 'x'.repeat(31_000_000))
  await t.rejects(enter('ada', 'x'.repeat(2_000_000)), { message: /Too much of yours/ })
  const other = enter('bob', 'x'.repeat(2_000_000))
  await t.rejects(enter('ada', 'x'.repeat(200_000_001)), { name: 'StorageFault', message: /too large to be written/ })
  room.close(new Error('closed'))
  await Promise.allSettled([half, other])
})

t.test('a thread that dies while it waits for work is not taken again', async (t) => {
  let started = 0
  const threads: EventEmitter[] = []
  const jobPool = new JobPool(() => {
    started++
    const thread = new EventEmitter()
    const postMessage = (message: unknown) => {
      if (message === 'close') thread.emit('exit', 0)
      else setImmediate(() => thread.emit('message', JSON.stringify({ result: 'done' })))
    }
    threads.push(thread)
    return Object.assign(thread, { postMessage, ref: () => {}, unref: () => {} }) as unknown as Worker
  })
  const job = { module: '', name: '' }
  t.equal(await jobPool.run(job, 1), 'done')
  t.equal(await jobPool.run(job, 2), 'done')
  t.equal(started, 1)
  threads[0]?.emit('error', new Error('dead'))
  t.equal(await jobPool.run(job, 3), 'done')
  t.equal(started, 2)
})

t.test('where no thread can be started, an export keeps no place', async (t) => {
  const rowStreams = new RowStreams(() => {
    throw new Error('no thread left')
  })
  const options = { username: 'ada', seconds: 60, bytes: 0, shapes: {} }
  const begin = () => rowStreams.stream({ sql: '', parameters: [] }, { module: '', name: '' }, 0, options).next()
  for (let nth = 0; nth < 4; nth++) await t.rejects(begin(), /no thread left/)
  t.equal(rowStreams.isUnderWay, false)
})

t.test('a reader whose connection fails tells who reads, and nobody else', async (t) => {
  const statement = { run: () => {}, raw: () => ({ get: () => [1], all: () => [] }), iterate: () => [] }
  const state = { isOpen: true, inTransaction: false }
  const sqlite = {
    prepare: () => {
      if (!state.isOpen) throw new Error('not open')
      return statement
    },
    get inTransaction() {
      return state.inTransaction
    },
    exec: () => {
      throw new Error('cannot end')
    },
  }
  const reader = new Reader(sqlite as unknown as ConstructorParameters<typeof Reader>[0])
  t.type(reader.snapshotId(), 'number')
  state.inTransaction = true
  reader.endSnapshot()
  t.throws(() => reader.snapshotId(), /cannot end/, 'the next one is told that it could not be ended')
  state.inTransaction = false
  state.isOpen = false
  t.throws(() => reader.upTo({ sql: 'another', parameters: [] }, 1), /not open/)
})
