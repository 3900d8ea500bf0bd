import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { Searches } from '../../src/storage/searches.ts'
import { Checkpointer } from '../../src/storage/sqlite/checkpointer.ts'
import { endRead } from '../../src/storage/sqlite/statements.ts'
import { type SearchResult, type Statement, StorageFault } from '../../src/storage/storage.ts'

/** Parts that note what is done with them. */
function parts({
  rowStreams = () => 0,
  truncate = async () => {},
}: {
  rowStreams?(): number
  truncate?(): Promise<void>
} = {}) {
  const done: string[] = []
  const errors: unknown[] = []
  return {
    done,
    errors,
    searches: {
      whileIdle: async (work: () => Promise<unknown>, slowMs: number) => {
        done.push(slowMs > 1000 ? 'pause for long' : 'pause')
        await work()
        return true
      },
    },
    rowStreams: {
      pause: () => void done.push('pause streams'),
      resume: () => void done.push('resume streams'),
      endSlow: () => void done.push('end slow'),
      get isUnderWay() {
        return rowStreams() > 0
      },
    },
    copyLog: async (): Promise<void> => void done.push('copy'),
    truncateLog: async () => {
      done.push('truncate')
      await truncate()
    },
    onError: (error: unknown) => void errors.push(error),
  }
}

const settled = async (holds: () => boolean) => {
  while (!holds()) await sleep(5)
}

t.test('a log that is too large is copied, and starts over while nobody reads from it', async (t) => {
  const one = parts()
  const checkpointer = new Checkpointer(one, 1000)
  checkpointer.checkLogSize(1000)
  t.strictSame(one.done, [], 'not yet')
  checkpointer.checkLogSize(1001)
  checkpointer.checkLogSize(2000)
  await settled(() => one.done.includes('resume streams'))
  t.strictSame(one.done, ['copy', 'pause', 'truncate', 'resume streams'])
  checkpointer.checkLogSize(2000)
  t.equal(one.done.length, 4, 'and not again at once')
  const far = parts()
  new Checkpointer(far, 1000).checkLogSize(4001)
  await settled(() => far.done.includes('resume streams'))
  t.ok(far.done.includes('pause for long'), 'searches wait when it is far too large')
  const much = parts({ truncate: () => sleep(200).then(() => void much.done.push('truncated')) })
  new Checkpointer(much, 1000).checkLogSize(4001)
  await settled(() => much.done.includes('resume streams'))
  t.strictSame(much.done.slice(-2), ['truncated', 'resume streams'], 'until it is empty')
})

t.test(
  'exports end first, when it is far too large: new ones wait, and those that nobody reads are ended',
  async (t) => {
    const before = parts({ rowStreams: () => 1 })
    new Checkpointer(before, 1000).checkLogSize(4000)
    await settled(() => before.done.includes('resume streams'))
    t.strictSame(before.done, ['copy', 'resume streams'], 'before that they go on')
    let left = 3
    const one = parts({ rowStreams: () => left-- })
    new Checkpointer(one, 1000).checkLogSize(4001)
    await settled(() => one.done.includes('resume streams'))
    t.strictSame(one.done, [
      'pause streams',
      'end slow',
      'end slow',
      'end slow',
      'copy',
      'pause for long',
      'truncate',
      'resume streams',
    ])
  },
)

t.test('a full disk is told, and nobody is held up by it', async (t) => {
  const one = parts({ truncate: () => Promise.reject(new Error('no room')) })
  const checkpointer = new Checkpointer(one, 1000)
  checkpointer.checkLogSize(1001)
  await settled(() => one.done.includes('resume streams'))
  t.match(one.errors, [{ message: 'no room' }])
  const slow = parts({ truncate: () => sleep(200).then(() => Promise.reject(new Error('no room, later'))) })
  new Checkpointer(slow, 1000).checkLogSize(1001)
  await settled(() => slow.done.includes('resume streams'))
  t.strictSame(slow.errors, [], 'searches do not wait for it')
  await settled(() => slow.errors.length > 0)
  t.match(slow.errors, [{ message: 'no room, later' }], 'and it is told as well')
  const closed = parts({ rowStreams: () => 1, truncate: () => Promise.reject(new Error('closed')) })
  const closing = new Checkpointer(closed, 1000)
  closing.checkLogSize(4001)
  closing.close()
  await settled(() => closed.done.includes('resume streams'))
  t.strictSame(closed.done, ['pause streams', 'end slow', 'resume streams'], 'what is closed goes no further')
  const late = parts({ truncate: () => Promise.reject(new Error('closed')) })
  const ending = new Checkpointer(late, 1000)
  late.copyLog = async () => ending.close()
  ending.checkLogSize(1001)
  await settled(() => late.done.includes('resume streams'))
  t.strictSame(late.errors, [], 'nor is it told what fails while all is closed')
})

t.test('searches go on, whatever becomes of the pause', async (t) => {
  let end: (found: SearchResult) => void = () => {}
  const nothing: SearchResult = { rows: [], isTruncated: false }
  const searcher = {
    run: () =>
      new Promise<SearchResult>((resolve) => {
        end = resolve
      }),
    stop: () => {},
    close: async () => {},
  }
  const searches = new Searches(() => searcher, 1, 1)
  const options = { username: 'ada', seconds: 0.01, bytes: 0, shapes: {} }
  const statement = { sql: '', parameters: [] }
  const awake = setInterval(() => {}, 1000)
  t.teardown(() => clearInterval(awake))
  const first = searches.search(statement, options)
  let isDone = false
  const work = async () => {
    isDone = true
  }
  t.equal(await searches.whileIdle(work, 10), false, 'one that does not end is not waited for')
  t.notOk(isDone)
  end(nothing)
  await first
  await t.rejects(
    searches.whileIdle(() => Promise.reject(new Error('full')), 10),
    /full/,
  )
  const second = searches.search(statement, { ...options, username: 'bob' })
  await sleep(5)
  end(nothing)
  t.strictSame(await second, nothing, 'also after work that failed')
  t.equal(await searches.whileIdle(work, 10), true)
  t.ok(isDone)
  const failing = new Searches(() => {
    throw new Error('no thread left')
  })
  await t.rejects(failing.search(statement, options), /no thread left/)
})

t.test('a search that was slow does not start over again', async (t) => {
  const runs: [sql: string, value: unknown, ms: number][] = []
  const searcher = {
    async run({ sql, parameters }: Statement, ms: number): Promise<SearchResult> {
      runs.push([sql, parameters[0], ms])
      if (ms < 1000 && parameters[0] !== 'quick') throw new StorageFault('slow', 'too long')
      if (parameters[0] !== 'delayed') await sleep(150)
      return { rows: [], isTruncated: false }
    },
    stop: () => {},
    close: async () => {},
  }
  const searches = new Searches(() => searcher)
  const search = (value: string, seconds = 2, username = 'ada') =>
    searches.search({ sql: 'SELECT', parameters: [value] }, { username, seconds, bytes: 0, shapes: {} })
  await search('slow')
  await search('slow')
  await search('quick')
  await t.rejects(search('slow', 0.01), { message: 'too long' }, 'who has little time is not made to wait for others')
  await search('slow', 2, 'bob')
  await search('delayed')
  await search('delayed')
  await search('slow '.repeat(1000))
  await search('slow '.repeat(1000))
  t.strictSame(
    runs.map(([, value, ms]) => [String(value).slice(0, 6), ms]),
    [
      ['slow', 50],
      ['slow', 2000],
      ['slow', 2000],
      ['quick', 50],
      ['slow', 10],
      ['slow', 50],
      ['slow', 2000],
      ['delaye', 50],
      ['delaye', 2000],
      ['delaye', 50],
      ['delaye', 2000],
      ['slow s', 50],
      ['slow s', 2000],
      ['slow s', 50],
      ['slow s', 2000],
    ],
    'but for somebody else, if it was only delayed, and if it is too long to be remembered',
  )

  runs.length = 0
  const others = ['cid', 'dan'].map((name) => search('slow', 2, name))
  while (runs.filter(([, , ms]) => ms > 50).length < 2) await sleep(1)
  await search('slow')
  await Promise.all(others)
  t.strictSame(
    runs.map(([, , ms]) => ms),
    [50, 50, 2000, 2000, 50, 2000],
    'nor if others search slowly: it may be quick by now, and would wait for them',
  )
})

t.test('a read that cannot be ended is told to who reads next', async (t) => {
  const exec = () => {
    throw new Error('busy')
  }
  t.throws(() => endRead({ inTransaction: true, exec }), /busy/)
  endRead({ inTransaction: false, exec })
})
