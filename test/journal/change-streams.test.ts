import { EventEmitter } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createAccess } from '../../src/filters/access.ts'
import { CatchUp, type RenderedFeed } from '../../src/journal/catch-up.ts'
import { ChangeStreams } from '../../src/journal/change-streams.ts'
import { createEntryDecoder } from '../../src/journal/entry.ts'
import { type ChangePage, createFeed, readBounds } from '../../src/journal/feed.ts'
import { createStateReader } from '../../src/journal/rebuild-state.ts'
import type { Listener } from '../../src/journal/render-changes.ts'
import { MAX_STREAMS_PER_USER } from '../../src/journal/stream.ts'
import { createLogger } from '../../src/logging.ts'
import type { User } from '../../src/model/access.ts'
import { byName } from '../../src/model/model.ts'
import { Metrics } from '../../src/upkeep/metrics.ts'
import { prune } from '../../src/upkeep/prune.ts'
import { scrub } from '../../src/upkeep/scrub.ts'
import { maintainJournal } from '../../src/upkeep/upkeep.ts'
import { configOf, emptyFolder, logSink, migrateTo, modelOf, startApp, testStorage } from '../helper.ts'

/** Somebody who reads, or not. */
class Reader extends EventEmitter {
  text = ''
  writableLength = 0
  destroyed = false
  isEnded = false

  write(text: string | Buffer): boolean {
    this.text += text
    return true
  }

  end(): void {
    this.isEnded = true
  }

  get numbers(): number[] {
    return [...this.text.matchAll(/^id: (\d+)\nevent/gm)].map(([, number]) => Number(number))
  }
}

const ADMIN: User = { username: 'admin', roles: ['admin'] }
const thing = modelOf('a.Thing', { type: 'object', properties: { text: { type: 'string' } } })

t.test('who has gone while it was looked up is told nothing', async (t) => {
  const sink = new Reader()
  const change = { change: 1 } as ChangePage['changes'][number]
  const feed = {
    hasChangesSince: async () => true,
    readPage: async () => ({ changes: [change], next: 1, rightsChanges: [] }),
    models: new Map(),
    keyFor: () => '',
    textFor: (_user: unknown, _change: unknown, text: string) => text,
    render: async () => [{ change: 1, text: 'told' }],
  }
  const isOpen = { now: true }
  const behind = new CatchUp({ wake: () => {}, isOpen: () => isOpen.now, end: () => {} })
  const listener = { user: ADMIN, wanted: undefined, sink, refreshUser: () => ADMIN }
  const stream = { ...listener, position: 0, isLive: false, isAwaited: false, writtenAt: 0, notBefore: 0 }
  behind.add(stream)
  isOpen.now = false
  const round = behind.catchUp(feed as unknown as RenderedFeed, 1)
  behind.remove(stream)
  await round
  t.equal(sink.text, '')
  t.equal(stream.position, 0)
})

t.test('streams', async (t) => {
  const storage = await testStorage(t)
  await migrateTo(storage, [thing])
  const errors: unknown[] = []
  const streams = new ChangeStreams(storage, byName([thing]), (error) => errors.push(error), {
    pollMs: 5,
    checkRightsMs: 5,
    keepAliveMs: 30,
  })
  t.teardown(() => streams.close())
  const listen = async (more: Partial<Listener> = {}, since?: number) => {
    const sink = new Reader()
    await streams.open({ user: ADMIN, wanted: undefined, sink, refreshUser: () => ADMIN, ...more }, since)
    return sink
  }
  const write = (sql: string) => storage.write({ steps: [{ sql, parameters: [] }] })
  const make = (text: string) => write(`INSERT INTO "a__Thing" (text) VALUES ('${text}')`)
  const until = async (isSo: () => boolean) => {
    while (!isSo()) await sleep(2)
  }

  await t.test('who does not read is told no more, until they do; nobody else waits', async (t) => {
    const [slow, quick] = [await listen(), await listen()]
    await until(() => slow.text !== '' && quick.text !== '')
    slow.writableLength = 1_000_000
    for (let nth = 1; nth <= 3; nth++) await make(`${nth}`)
    await until(() => quick.numbers.length === 3)
    await sleep(30)
    t.strictSame(slow.numbers, [])
    t.equal(slow.listenerCount('drain'), 1)
    slow.writableLength = 0
    slow.emit('drain')
    await until(() => slow.numbers.length === 3)
    await make('4')
    await until(() => slow.numbers.length === 4 && quick.numbers.length === 4)
    t.strictSame(slow.numbers, quick.numbers)
    slow.emit('close')
    slow.emit('close')
    quick.emit('close')
    t.equal(streams.size, 0)
    const begin = await listen({}, 0)
    begin.writableLength = 1_000_000
    await sleep(20)
    t.strictSame(begin.numbers, [])
    begin.emit('close')
  })

  await t.test('something is sent every so often, with the place where they are', async (t) => {
    const reader = await listen()
    const full = await listen()
    full.writableLength = 1_000_000
    const { length } = full.text
    await until(() => reader.text.split('\n\n').length > 3)
    t.match(reader.text, /^retry: 2000\nid: 4\n\nid: 4\n\n/)
    t.equal(full.text.length, length)
    reader.emit('close')
    full.emit('close')
  })

  await t.test('what was dropped before somebody read it ends their stream', async (t) => {
    const reader = await listen({}, 1)
    reader.writableLength = 1_000_000
    await prune(storage, new Date(Date.now() + 1000), () => {})
    reader.writableLength = 0
    reader.emit('drain')
    streams.wake()
    await until(() => reader.isEnded)
    t.strictSame(reader.numbers, [])
    const other = await listen({}, 3)
    await until(() => other.numbers.length === 1)
    other.emit('close')
  })

  await t.test('tables that have changed under it: told later', async (t) => {
    const reader = await listen()
    await write(`UPDATE dossier_tables SET shape = 'other'`)
    await write('CREATE TABLE dossier_x (x)')
    await make('5')
    streams.wake()
    await until(() => errors.length > 0)
    t.strictSame(reader.numbers, [])
    const { tableShape } = await import('../../src/tables/ddl.ts')
    await write(`UPDATE dossier_tables SET shape = '${tableShape(thing)}'`)
    await write('DROP TABLE dossier_x')
    await until(() => reader.numbers.length === 1)
    reader.emit('close')
  })

  await t.test('who cannot be asked stays as they were', async (t) => {
    const before = errors.length
    const reader = await listen({
      refreshUser: () => {
        throw new Error('no')
      },
    })
    await until(() => errors.length > before)
    t.notOk(reader.isEnded)
    reader.emit('close')
  })

  await t.test('who comes while the last ones are told begins where they were', async (t) => {
    const first = await listen()
    await storage.write({
      steps: Array.from({ length: 3 }, () => ({
        sql: 'INSERT INTO "a__Thing" (text) VALUES (?)',
        parameters: ['x'.repeat(900_000)],
      })),
    })
    const { newest } = await readBounds(storage)
    const second = await listen({}, newest)
    first.emit('close')
    second.emit('close')
    const third = await listen({}, newest)
    const fourth = await listen()
    await make('after')
    await until(() => third.numbers.length > 0)
    t.strictSame(third.numbers, [newest + 1])
    t.strictSame(
      fourth.numbers,
      fourth.numbers.toSorted((a, b) => a - b),
    )
    await until(() => fourth.numbers.includes(newest + 1))
    third.emit('close')
    fourth.emit('close')
  })

  await t.test('somebody may leave while they are told', async (t) => {
    const sink = new Reader()
    // As soon as it is looked whether there is room for more.
    Object.defineProperty(sink, 'writableLength', {
      get: () => {
        queueMicrotask(() => sink.emit('close'))
        return 0
      },
    })
    await listen({ sink }, 4)
    await until(() => streams.size === 0)
    t.strictSame(sink.numbers, [])
    t.equal(streams.size, 0)
    t.equal(streams.countStreams('admin'), 0)
  })

  await t.test('a change that was forgotten, and one of a model that is not served', async (t) => {
    const last = (await readBounds(storage)).newest
    await make('6')
    await write(`UPDATE "a__Thing" SET text = '7', version = version + 1 WHERE text = '6'`)
    await write('UPDATE dossier_changes SET was = NULL, became = NULL')
    await write(
      `INSERT INTO dossier_changes (model, id, version, operation, at, fields) VALUES ('b.Gone', 1, 0, 'create', '', '[]')`,
    )
    const reader = await listen({}, last)
    await until(() => reader.numbers.length === 2)
    const [first, second] = [...reader.text.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data as string))
    t.notOk('record' in first, 'there is no telling what it was')
    t.match(second.record, { text: '7' })
    await write(
      `INSERT INTO dossier_changes (model, id, version, operation, at, fields) VALUES ('b.Gone', 1, 0, 'create', '', '[]')`,
    )
    await make('8')
    await until(() => reader.numbers.length === 3)
    reader.emit('close')
  })

  await t.test('what is large is told in pieces, to who is live and to who is not', async (t) => {
    const { newest } = await readBounds(storage)
    const live = await listen()
    await storage.write({
      steps: Array.from({ length: 30 }, () => ({
        sql: 'INSERT INTO "a__Thing" (text) VALUES (?)',
        parameters: ['x'.repeat(600_000)],
      })),
    })
    await until(() => live.numbers.length === 30)
    const late = await listen({}, newest)
    await until(() => late.numbers.length === 30)
    t.strictSame(late.numbers, live.numbers)
    live.emit('close')
    late.emit('close')
  })

  await t.test(
    'many records that are not any more what they were; and models that change before it is told',
    async (t) => {
      await write('DELETE FROM "a__Thing"')
      await write(`WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 25)
      INSERT INTO "a__Thing" (text) SELECT 't' || n FROM n`)
      const { newest } = await readBounds(storage)
      const live = await listen()
      await until(() => live.text !== '')
      for (const text of ['u', 'v', 'w'])
        await write(`UPDATE "a__Thing" SET text = '${text}' || id, version = version + 1`)
      streams.serve(byName([thing]))
      await until(() => live.numbers.length === 75)
      const late = await listen({}, newest)
      await until(() => late.numbers.length === 75)
      const records = (text: string) =>
        [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data as string).record)
      const told = records(late.text)
      t.ok(told.every(({ text, id, version }) => text === `${' uvw'[version]}${id}`))
      t.strictSame(records(live.text.replace('event: models\ndata: {}\n\n', '')), told)
      live.emit('close')
      late.emit('close')
      const feed = createFeed(storage, byName([thing]), createAccess(byName([thing]), storage.db))
      const { changes } = await feed.readPage(ADMIN, undefined, newest - 25, 500)
      const own = changes.filter(({ id }) => id === told[24].id)
      const texts: unknown[] = []
      for (const change of own) texts.push((await feed.recordAfter(change))?.text)
      t.strictSame(texts, ['t25', ...['u', 'v', 'w'].map((letter) => `${letter}${told[24].id}`)])
      const read = createEntryDecoder(storage, thing)
      const rebuildState = createStateReader(storage, 'a.Thing', read)
      t.equal(
        await rebuildState(9_999_999, { change: 1, version: 0 }, () => undefined),
        undefined,
        'nothing is known of it',
      )
      const place = { change: newest, version: 0 }
      await t.rejects(
        rebuildState(told[24].id, place, () => told[74], AbortSignal.abort()),
        /Nobody waits for it/,
      )
    },
  )

  /** A hub that looks only when it is told to, and while it is blind cannot read anything. */
  const blindable = async () => {
    const state = { isBlind: false }
    const told: unknown[] = []
    const watched = new Proxy(storage, {
      get: (target, name) => {
        const own = target[name as keyof typeof target]
        if (state.isBlind && String(name).startsWith('read')) throw new Error('the disk is gone')
        return typeof own === 'function' ? own.bind(target) : own
      },
    })
    const still = { pollMs: 60_000, checkRightsMs: 60_000, keepAliveMs: 60_000 }
    const hub = new ChangeStreams(watched, byName([thing]), (error) => told.push(error), still)
    const sink = new Reader()
    await hub.open({ user: ADMIN, wanted: undefined, sink, refreshUser: () => ADMIN })
    return { state, told, hub, sink }
  }

  await t.test('what was committed before the models changed is told by those that were there', async (t) => {
    const { state, hub, sink } = await blindable()
    state.isBlind = true
    await make('before')
    state.isBlind = false
    hub.serve(byName([thing]))
    await until(() => sink.numbers.length === 1)
    await make('after')
    hub.wake()
    await until(() => sink.numbers.length === 2)
    t.match(sink.text, /event: models.*"before".*"after"/s)
    sink.emit('close')
    hub.close()
  })

  await t.test(
    'a change of rights ends the streams of before, and none that is opened with the new ones',
    async (t) => {
      const { hub, sink } = await blindable()
      const open = async (user: User) => {
        const reader = new Reader()
        await hub.open({ user, wanted: undefined, sink: reader, refreshUser: () => user })
        return reader
      }
      const before = await open({ ...ADMIN, username: 'zoe' })
      await make('with the rights of before')
      const change = () =>
        write(`INSERT INTO dossier_changes (model, id, version, operation, at, "createdBy", fields)
          VALUES ('dossier.rights', 0, 0, 'update', '2026-01-01T00:00:00.000Z', 'zoe', '[]')`)
      await change()
      const { newest } = await readBounds(storage)
      // Nobody has been told yet.
      const after = await open({ ...ADMIN, username: 'zoe', rightsSince: newest })
      t.match(after.text, `id: ${newest}\n`)
      await until(() => before.isEnded)
      await make('with the rights of now')
      hub.wake()
      await until(() => after.numbers.length > 0)
      t.strictSame(after.numbers, [newest + 1])
      t.strictSame([after.isEnded, before.isEnded], [false, true])
      t.strictSame(sink.numbers, [newest - 1, newest + 1])
      // The rights have a number already, while earlier ones are still being written.
      const early = await open({ ...ADMIN, username: 'zoe', rightsSince: newest + 3 })
      await make('meanwhile')
      await change()
      await make('then')
      hub.wake()
      await until(() => after.isEnded && early.numbers.length === 2)
      t.strictSame(early.numbers, [newest + 2, newest + 4])
      t.equal(early.isEnded, false)
      for (const one of [sink, early]) one.emit('close')
      hub.close()
    },
  )

  await t.test('while nothing can be read, everybody waits', async (t) => {
    const { state, told, hub, sink } = await blindable()
    state.isBlind = true
    await make('unseen')
    hub.wake()
    await until(() => told.length > 0)
    t.match(told[0], /the disk is gone/)
    t.strictSame(sink.numbers, [])
    hub.serve(byName([thing]))
    state.isBlind = false
    hub.wake()
    await until(() => sink.numbers.length === 1)
    sink.emit('close')
    hub.close()
  })

  await t.test('who has gone before it was known where to begin', async (t) => {
    const before = streams.size
    await listen({ sink: Object.assign(new Reader(), { destroyed: true }) })
    t.equal(streams.size, before)
  })

  await t.test('after the end nobody begins', async (t) => {
    streams.close()
    const reader = await listen()
    t.ok(reader.isEnded)
    t.equal(streams.size, 0)
  })
})

t.test('who gets other rights while catching up is ended', async (t) => {
  const ended: unknown[] = []
  const feed = {
    hasChangesSince: async () => true,
    readPage: async () => ({ changes: [], next: 5, rightsChanges: [{ username: ADMIN.username, change: 5 }] }),
    models: new Map(),
    keyFor: () => '',
  }
  const behind = new CatchUp({
    wake: () => {},
    isOpen: () => true,
    end: (stream) => {
      ended.push(stream.position)
      behind.remove(stream)
    },
  })
  const listener = { user: ADMIN, wanted: undefined, sink: new Reader(), refreshUser: () => ADMIN }
  behind.add({ ...listener, position: 3, isLive: false, isAwaited: false, writtenAt: 0, notBefore: 0 })
  await behind.catchUp(feed as unknown as RenderedFeed, 9)
  t.strictSame(ended, [3], 'at the position before')
})

t.test('there is a bound to how many listen', async (t) => {
  const app = await startApp(t)
  const admin = await app.login()
  const { changeStreams } = app.service as unknown as { changeStreams: ChangeStreams }
  const sinks = Array.from({ length: MAX_STREAMS_PER_USER }, () => new Reader())
  for (const sink of sinks)
    await changeStreams.open({ user: ADMIN, wanted: undefined, sink, refreshUser: () => ADMIN }, undefined)
  const { status, body } = await admin.get('/ws/changes/stream')
  t.equal(status, 503)
  t.match(body.message, /You have 1000 streams already/)
  for (let nth = 0; nth < 4000; nth++)
    await changeStreams.open(
      { user: { ...ADMIN, username: 'x' }, wanted: undefined, sink: new Reader(), refreshUser: () => ADMIN },
      undefined,
    )
  t.match((await admin.get('/ws/changes/stream')).body.message, /too many streams/)
  await admin.put('/ws/rest/contacts.Contact', { firstName: 'Ada' })
  while (!sinks.every(({ numbers }) => numbers.length === 1)) await sleep(5)
})

t.test('old changes are dropped in portions, the newest never', async (t) => {
  const storage = await testStorage(t)
  const add = (at: string, count: number) =>
    storage.write({
      steps: [
        {
          sql: `WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ?)
            INSERT INTO dossier_changes (model, id, version, operation, at, fields) SELECT 'a.A', n, 0, 'create', ?, '[]' FROM n`,
          parameters: [count, at],
        },
      ],
    })
  const numbers = async () => {
    const rows = await storage.read({ sql: 'SELECT change FROM dossier_changes ORDER BY change', parameters: [] })
    return rows.map(({ change }) => change)
  }
  await add('2020-01-01T00:00:00.000Z', 300)
  await add('2026-01-01T00:00:00.000Z', 2)
  // A clock that was set back.
  await add('2020-01-01T00:00:00.000Z', 1)
  let pruned = 0
  const count = (changes: number) => {
    pruned += changes
  }
  await prune(storage, new Date('2025-01-01'), count, () => true)
  t.equal(pruned, 50, 'one portion, when it should stop')
  await prune(storage, new Date('2025-01-01'), count)
  t.strictSame([pruned, await numbers()], [300, [301, 302, 303]])
  await prune(storage, new Date('2027-01-01'), count)
  t.strictSame(await numbers(), [303])
  await prune(storage, new Date('2027-01-01'), count)
  t.strictSame(await numbers(), [303])
  await add('2020-01-01T00:00:00.000Z', 1)

  const { lines, stream } = logSink()
  const config = configOf(emptyFolder(t), { HISTORY_DAYS: '1', LOG_LEVEL: 'info' })
  const log = createLogger(config, false, stream)
  const onError = (task: string, error: unknown) => log.warn(error, task)
  const tend = (on: typeof storage) => maintainJournal(on, config, { metrics: { countPruned: count }, onError }, 5)
  const stop = tend(storage)
  while ((await numbers()).length > 1) await sleep(5)
  t.strictSame(await numbers(), [304])
  stop()
  /** Slower than the looks come: they do not pile up. */
  const write = () => sleep(20).then(() => Promise.reject(new Error('no')))
  const failing = {
    ...storage,
    read: () => [],
    write,
  } as unknown as typeof storage
  const stopFailing = tend(failing)
  while (lines.length === 0) await sleep(5)
  stopFailing()
  t.match(lines[0], /upkeep of the history/)
  const { length } = lines
  tend(failing)()
  await sleep(40)
  t.equal(lines.length, length, 'what fails while it stops is not worth a line')
  const metrics = new Metrics()
  metrics.countPruned(3)
  t.match(
    await metrics.text({
      sessions: 0,
      records: new Map(),
      changes: 7,
      streams: 2,
      figures: { database: 1, log: 0, connections: 0, retries: 0 },
    }),
    /dossier_pruned_changes 3/,
  )
})

t.test('what becomes a secret is taken out of what was written down before', async (t) => {
  const storage = await testStorage(t)
  const properties = { a: { type: 'string' }, b: { type: 'string' }, c: { type: 'string' } }
  const plain = modelOf('a.Thing', { type: 'object', properties, audit: false })
  const renamed = { a: properties.a, d: { type: 'string', renamedFrom: 'b', writeOnly: true }, c: properties.c }
  const secret = modelOf('a.Thing', { type: 'object', properties: renamed, audit: false })
  await migrateTo(storage, [plain])
  const write = (text: string) => storage.write({ steps: [{ sql: text, parameters: [] }] })
  await write(`INSERT INTO "a__Thing" (a, b, c) VALUES ('a0', 'b0', 'c0')`)
  await write(`UPDATE "a__Thing" SET b = 'b1', c = 'c1', version = 64`)
  await write(`UPDATE "a__Thing" SET a = 'a1', version = 65`)
  await write('DELETE FROM "a__Thing"')
  await migrateTo(storage, [secret])
  await write(`INSERT INTO "a__Thing" (a, d) VALUES ('a2', 'd2')`)
  const rows = () => storage.read({ sql: 'SELECT fields, was, became, whole FROM dossier_changes', parameters: [] })
  await scrub(storage, () => true)
  t.match(JSON.stringify(await rows()), /b0/, 'stopped before it began')
  await scrub(storage)
  t.strictSame(await rows(), [
    { fields: '["a",["b"],"c"]', was: null, became: '["a0","c0"]', whole: null },
    { fields: '[["b"],"c"]', was: '["c0"]', became: '["c1"]', whole: '{"a":"a0","c":"c1"}' },
    { fields: '["a"]', was: '["a0"]', became: '["a1"]', whole: null },
    { fields: '["a",["b"],"c"]', was: '["a1","c1"]', became: null, whole: null },
    { fields: '["a",["d"]]', was: null, became: '["a2"]', whole: null },
  ])
  const secrets = () =>
    storage.read({ sql: 'SELECT field, upTo, done FROM dossier_secrets WHERE isOpen = 0', parameters: [] })
  t.strictSame(secrets(), [{ field: 'd', upTo: 4, done: 4 }])
  await migrateTo(storage, [
    modelOf('a.Thing', { type: 'object', properties: { a: properties.a, d: properties.b }, audit: false }),
  ])
  t.strictSame(secrets(), [])
  await write(`UPDATE "a__Thing" SET d = 'shown', version = 1`)
  await migrateTo(storage, [secret])
  await scrub(storage)
  t.notMatch(JSON.stringify(await rows()), /shown/, 'also what was no secret only for a while')
  t.strictSame(secrets(), [{ field: 'd', upTo: 6, done: 6 }])
  const open = modelOf('a.Thing', { type: 'object', properties: { a: properties.a, d: properties.b }, audit: false })
  await migrateTo(storage, [open])
  await write(`WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 3000)
    INSERT INTO "a__Thing" (d) SELECT 'plain' FROM n`)
  await migrateTo(storage, [secret])
  await scrub(storage)
  t.notMatch(JSON.stringify(await rows()), /plain/, 'in more than one portion')
})
