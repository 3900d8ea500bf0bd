import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { sql } from 'kysely'
import pg from 'pg'
import t, { type Test } from 'tap'
import { fold } from '../../src/lib/fold.ts'
import { searchWords } from '../../src/lib/search-words.ts'
import { createKyselyDatabase } from '../../src/storage/postgres/kysely.ts'
import { TRIGRAM_INDEX } from '../../src/storage/postgres/trigram-index.ts'
import { type Statement, StorageFault } from '../../src/storage/storage.ts'
import { INDEX_PORTION, indexInput, searchDefinition, searchIndexName } from '../../src/tables/search-index.ts'
import { CREATE_TRIGRAMS, createTrigramIndex as createTrigrams, trigramInput } from '../../src/tables/trigram-index.ts'
import { MIN_LAST_ID_FOR_INDEX, maintainSearchIndexes } from '../../src/upkeep/search-indexes.ts'
import { atShell, isPostgres, sqliteOnly } from '../engine.ts'
import { modelOf, type Running, startApp, writeModel } from '../helper.ts'

const NOTE = {
  type: 'object',
  properties: {
    first: { type: 'string' },
    last: { type: 'string' },
    number: { type: 'integer' },
    name: { type: 'string', computed: '{first} {last}' },
  },
  search: ['name', 'number'],
}
const MODELS = { 's.Note.json': NOTE }
const NOTES = '/ws/rest/s.Note'
const TABLE = 's__Note'
const MODEL = modelOf('s.Note', NOTE)

/** Adds entries to the index until there are none to add. */
async function fill({ storage }: Running, model = MODEL) {
  while (await storage.runWriteJob(INDEX_PORTION, indexInput(model, storage.dialect.tables, 20)));
}

/** Counts the searches that ask the index. */
function countProposed({ storage }: Running) {
  const search = storage.search.bind(storage)
  const count = { proposed: 0, all: 0 }
  storage.search = (statement: Statement, options) => {
    count.all++
    if (statement.sql.includes('MATCH')) count.proposed++
    return search(statement, options)
  }
  return count
}

const isFilled = ({ storage }: Running, model = MODEL) =>
  storage.shape(searchIndexName(TABLE)) === searchDefinition(model, storage.dialect.tables)

const NAMES = [
  'José',
  'Jose',
  'García',
  'Ångström',
  'Straße',
  'strasse',
  'İbrahim',
  'か゛く',
  'がく',
  'a',
  'ab',
  '"quoted"',
  'ﷺ',
  '',
]
const ASKED = [
  'jose',
  'gar',
  'garcia jos',
  'strasse',
  'ibrahim',
  'がく',
  'かく',
  'a',
  'uot',
  '"quoted"',
  '12',
  '123',
  'صلى',
  'ström',
  'jo',
  'os',
  'é',
  'か',
  'くx',
  'く',
  'ss',
  'ab',
  '"q',
  'zz',
  '2',
  'صل',
  'ab os',
  's',
  's b',
  'a s r 1',
  'z a',
]

t.test('what is found does not depend on how far the index is', sqliteOnly, async (t) => {
  const service = await startApp(t, { models: MODELS })
  const client = await service.login()
  const count = countProposed(service)
  type Stored = { id: number; version: number; name: string | null; number: number | null }
  const records = new Map<number, Stored>()
  const deleted: number[] = []
  const names = fc.constantFrom(...NAMES)
  const keep = ({ body }: { body: { data: [Stored] } }) => records.set(body.data[0].id, body.data[0])
  const pick = (nth: number) => [...records.values()][nth % Math.max(1, records.size)]

  const step = fc.oneof(
    fc.record({
      what: fc.constantFrom('create', 'create', 'update', 'shell'),
      first: names,
      last: names,
      number: fc.nat(130),
      nth: fc.nat(),
    }),
    fc.record({ what: fc.constantFrom('delete', 'restore', 'fill', 'portion', 'move'), nth: fc.nat() }),
    fc.record({ what: fc.constant('search'), q: fc.constantFrom(...ASKED), limit: fc.integer({ min: 1, max: 9 }) }),
  )
  type Step = { what: string; first?: string; last?: string; number?: number; nth?: number; q?: string; limit?: number }

  async function play({ what, first, last, number, nth = 0, q = '', limit = 1 }: Step) {
    const chosen = pick(nth)
    if (what === 'create') keep(await client.put(NOTES, { first, last, number }))
    else if (what === 'fill') await fill(service)
    else if (what === 'portion')
      await service.storage.runWriteJob(INDEX_PORTION, indexInput(MODEL, service.storage.dialect.tables, 1))
    else if (what === 'search') await compare(q, limit)
    else if (what === 'restore') {
      const id = deleted.pop()
      if (id !== undefined) keep(await client.post(`${NOTES}/${id}/restore`, {}))
    } else if (!chosen) return
    else if (what === 'update')
      keep(await client.post(`${NOTES}/${chosen.id}`, { version: chosen.version, first, last, number }))
    else if (what === 'delete') {
      await client.delete(`${NOTES}/${chosen.id}`)
      records.delete(chosen.id)
      // What a shell has given another id cannot be restored.
      if (chosen.id < 1_000_000) deleted.push(chosen.id)
    } else if (what === 'shell' || what === 'move') {
      const id = what === 'move' ? 1_000_000 + chosen.id : chosen.id
      const set = what === 'move' ? `id = ${id}` : `first = '${first}', last = '${last}'`
      if (records.has(id) && what === 'move') return
      await atShell(service.config, `UPDATE "${TABLE}" SET ${set} WHERE id = ${chosen.id}`)
      records.delete(chosen.id)
      keep(await client.get(`${NOTES}/${id}`))
    }
  }

  async function compare(q: string, limit: number) {
    const wanted = searchWords(q)
    const isMatch = ({ name, number }: Stored) =>
      wanted.every((word) => [name, number].some((value) => value !== null && fold(String(value)).includes(word)))
    const expected = [...records.values()].filter(isMatch).map(({ id }) => id)
    const { body } = await client.get(`${NOTES}?q=${encodeURIComponent(q)}&sort=-id&limit=${limit}`)
    const ranked = await client.get(`${NOTES}?q=${encodeURIComponent(q)}&limit=500`)
    const ids = (data: Stored[]) => data.map(({ id }) => id)
    const sorted = expected.toSorted((a, b) => b - a)
    const found = JSON.stringify([body.total, ids(body.data), ids(ranked.body.data).sort((a, b) => b - a)])
    if (found !== JSON.stringify([expected.length, sorted.slice(0, limit), sorted]))
      throw new Error(`${q}: ${found} instead of ${JSON.stringify(sorted)}`)
  }

  await fc.assert(
    fc.asyncProperty(
      fc.array(step as fc.Arbitrary<Step>, { minLength: 20, maxLength: 60, size: 'max' }),
      async (steps) => {
        for (const one of steps) await play(one)
        for (const q of ASKED.slice(0, 4)) await compare(q, 5)
      },
    ),
    { numRuns: 10, seed: 4, endOnFailure: true },
  )
  t.ok(count.proposed > 20, 'the index was asked')
  t.ok(count.all > count.proposed, 'and not always')
  t.pass('what was found was right')
})

async function addMany({ db }: Running, count: number) {
  await sql`WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < CAST(${count} AS BIGINT))
    INSERT INTO "s__Note"(version, first, last) SELECT 0, 'Jürgen', concat('number ', n) FROM numbers`.execute(db)
}

async function waitUntil(t: Test, isSo: () => Promise<boolean> | boolean, what: string) {
  const end = Date.now() + 60_000
  while (!(await isSo()) && Date.now() < end) await sleep(20)
  t.ok(await isSo(), what)
}

t.test('short words that begin too many trigrams, or are nearly everywhere', sqliteOnly, async (t) => {
  const service = await startApp(t, { models: MODELS })
  const client = await service.login()
  const signs = Array.from({ length: 2100 }, (_, nth) => String.fromCodePoint(0x4e00 + nth))
  await client.put(NOTES, { first: signs.map((sign) => `zy${sign}`).join(''), last: 'x' })
  await client.put(NOTES, { first: 'ends in zy', last: null, number: 4 })
  for (let nth = 0; nth < 20; nth++) await client.put(NOTES, { first: `Ax ${nth}`, last: 'By', number: 100 + nth })
  await client.put(NOTES, { first: 'q\u{10ffff}\u{10ffff}', last: 'a\ufffeb' })
  const asked = { 'q\u{10ffff}': 1, 'a\ufffe': 1, zy: 2, by: 20, 丁: 1, 'ax 7': 2, y: 22, '10': 11, qq: 0 }
  const found = async () => {
    const totals = Object.keys(asked).map(async (q) => [
      q,
      (await client.get(`${NOTES}?limit=1&q=${encodeURIComponent(q)}`)).body.total,
    ])
    return Object.fromEntries(await Promise.all(totals))
  }
  t.strictSame(await found(), asked)
  await fill(service)
  const count = countProposed(service)
  t.strictSame(await found(), asked)
  t.ok(count.proposed >= 9, 'all ask the index')

  // Most of the first records have this letter.
  await addMany(service, 300)
  await sql`DELETE FROM "s__Note" WHERE first <> 'Jürgen'`.execute(service.db)
  await client.put(NOTES, { first: 'Xu', last: 'Jo' })
  await fill(service)
  t.match((await client.get(`${NOTES}?q=j&limit=1`)).body, { total: 301 })
  let asks = 1
  const isScanned = async () => {
    const before = { ...count }
    // Another page each time: one that is asked for again is answered from memory.
    await client.get(`${NOTES}?q=j&limit=${++asks}`)
    return count.proposed === before.proposed && count.all > before.all
  }
  // On a busy machine it may take too long to look at the first records.
  await waitUntil(t, isScanned, 'what most records have does not')
  const { proposed } = count
  t.match((await client.get(`${NOTES}?q=x&limit=1`)).body, { total: 1 })
  t.match((await client.get(`${NOTES}?q=x+j&limit=1`)).body, { total: 1 })
  t.match((await client.get(`${NOTES}?q=x+b&limit=1`)).body, { total: 0 })
  t.ok(count.proposed > proposed)

  const long = (word: string) => `${word} `.repeat(20_000)
  const made = await Promise.all(['vx', 'vx', 'vx'].map((word) => client.put(NOTES, { first: long(word) })))
  await fill(service)
  t.match((await client.get(`${NOTES}?q=vx&limit=1`)).body, { total: 3 })
  for (const { body } of made) await client.post(`${NOTES}/${body.data[0].id}`, { version: 0, first: long('wx') })
  await fill(service)
  t.match((await client.get(`${NOTES}?q=wx&limit=1`)).body, { total: 3 })
  t.match((await client.get(`${NOTES}?q=vx&limit=1`)).body, { total: 0 })
})

t.test('the first records tell how common a short word is, and may be wrong', sqliteOnly, async (t) => {
  const service = await startApp(t, { models: MODELS })
  const { storage } = service
  const client = await service.login()
  await sql`WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 250)
    INSERT INTO "s__Note"(version, first, last) SELECT 0, 'Xu', 'Lá ' || n FROM numbers`.execute(service.db)
  await addMany(service, 10_500)
  while (await storage.runWriteJob(INDEX_PORTION, indexInput(MODEL, storage.dialect.tables, 5000)));
  const count = countProposed(service)
  const found = async (q: string) => {
    const { body } = await client.get(`${NOTES}?q=${q}&limit=2&fields=first,last`)
    return [body.total, ...body.data.map((one: { first: string; last: string }) => `${one.first} ${one.last}`)]
  }
  t.strictSame(await found('x'), [250, 'Xu Lá 1', 'Xu Lá 2'], 'all of the first ones have it, and hardly any other')
  t.strictSame(
    await found('j'),
    [10_500, 'Jürgen number 1', 'Jürgen number 2'],
    'none of the first ones has it, and all others',
  )
  t.strictSame(await found('a'), [250, 'Xu Lá 1', 'Xu Lá 2'])
  t.strictSame(await found('u'), [10_750, 'Xu Lá 1', 'Xu Lá 2'], 'so many are not ranked')
  t.equal((await found('number+9'))[0], (await found('9'))[0] - 43, 'beside a long word')
  t.ok(count.proposed > 0)
  const pages = await client.get(`${NOTES}?q=u&limit=2`)
  const next = await client.get(`${NOTES}?q=u&limit=2&after=${encodeURIComponent(pages.body.next)}`)
  t.match(next.body, { total: 10_750, data: [{ last: 'Lá 3' }, { last: 'Lá 4' }] })

  const search = storage.search.bind(storage)
  for (const [kind, status] of [
    ['slow', 200],
    ['busy', 503],
  ] as const) {
    storage.search = (statement: Statement, options) =>
      statement.sql.includes('AS matching')
        ? Promise.reject(new StorageFault(kind, 'not now'))
        : search(statement, options)
    t.match(await client.get(`${NOTES}?q=x&limit=1`), { status }, kind)
  }
})

t.test('an index is filled in the background where there are many records', sqliteOnly, async (t) => {
  const service = await startApp(t, { models: MODELS })
  const client = await service.login()
  await addMany(service, 10)
  const failures: unknown[] = []
  const warnings: string[] = []
  let isLoaded = 0
  const parts = {
    log: { warn: (reason: string) => void warnings.push(reason) },
    models: () => [MODEL],
    countUnits: () => (isLoaded += 100),
    onError: (...failure: unknown[]) => failures.push(failure),
  }
  const stop = maintainSearchIndexes(service.storage, parts, 5)
  t.teardown(stop)
  await sleep(100)
  const entries = async () =>
    (await service.db.selectFrom('dossier_search').selectAll().execute()) as { entries: number }[]
  t.strictSame(await entries(), [], 'few records need none')
  await addMany(service, MIN_LAST_ID_FOR_INDEX)
  await waitUntil(t, () => isFilled(service), 'it is filled')
  const count = countProposed(service)
  t.match((await client.get(`${NOTES}?q=jurgen&limit=1`)).body, { total: MIN_LAST_ID_FOR_INDEX + 10 })
  t.equal(count.proposed, 1)
  await client.put(NOTES, { first: 'Zoë' })
  await client.post(`${NOTES}/7`, { version: 0, first: 'Zoë' })
  t.match((await client.get(`${NOTES}?q=zoe`)).body, { total: 2 })
  const isNoted = async () => (await service.db.selectFrom('dossier_unsearched').selectAll().execute()).length > 0
  await waitUntil(t, async () => !(await isNoted()), 'what was changed is added')
  t.match((await client.get(`${NOTES}?q=zoe`)).body, { total: 2 })
  t.equal(count.proposed, 3)

  const { notifyShapes } = service.storage.dialect.tables
  const forget = `DELETE FROM dossier_tables WHERE tbl = '${searchIndexName(TABLE)}'`
  await atShell(service.config, ['BEGIN IMMEDIATE', forget, ...notifyShapes, 'COMMIT'].join(';'))
  await service.storage.refreshShapes()
  const isNamed = async () =>
    (await sql`SELECT 1 FROM dossier_tables WHERE tbl = ${searchIndexName(TABLE)}`.execute(service.db)).rows.length > 0
  await waitUntil(t, isNamed, 'what is filled and does not say so is seen')

  await sql`UPDATE dossier_search SET entries = 1000000`.execute(service.db)
  await client.post(`${NOTES}/8`, { version: 0, first: 'Zoë' })
  await waitUntil(
    t,
    async () => ((await entries())[0]?.entries ?? 1e6) < 1e6,
    'an index with too much that is outdated is made anew',
  )
  await waitUntil(t, () => isFilled(service), 'and filled')
  t.match((await client.get(`${NOTES}?q=zoe`)).body, { total: 3 })

  stop()
  t.strictSame([failures.map(String), warnings], [[], []])
  const unread: string[] = []
  const noModels = () => {
    throw new Error('no models')
  }
  const stopUnread = maintainSearchIndexes(
    service.storage,
    {
      log: { warn: () => {} },
      models: noModels,
      countUnits: () => 0,
      onError: (task) => void unread.push(task),
    },
    1,
  )
  await waitUntil(t, () => unread.length > 1, 'a failure is told, and does not end it')
  stopUnread()
  t.match(unread, [/indexes for text searches/])
  const ill = {
    ...service.storage,
    dialect: service.storage.dialect,
    readOne: () => Promise.reject(new Error('broken')),
  }
  const stopIll = maintainSearchIndexes(ill as typeof service.storage, parts, 5)
  await waitUntil(t, () => failures.length > 0, 'a failure is told')
  stopIll()
})

t.test('an index follows the model', sqliteOnly, async (t) => {
  const service = await startApp(t, { models: MODELS })
  const client = await service.login()
  await client.put(NOTES, { first: 'Anna', last: 'Çelik', number: 77_777 })
  await fill(service)
  const total = async (q: string) => (await client.get(`${NOTES}?q=${q}`)).body.total
  t.strictSame([await total('celik'), await total('7777')], [1, 1])

  const other = { ...NOTE, search: ['first'] }
  writeModel(service.folder, 's.Note.json', other)
  await service.service.reload()
  t.strictSame([await total('anna'), await total('celik'), await total('7777')], [1, 0, 0], 'another search')
  t.notOk(isFilled(service, modelOf('s.Note', other)), 'is not answered by the index of the former one')
  await fill(service, modelOf('s.Note', other))
  t.strictSame([await total('anna'), await total('celik')], [1, 0])

  const { first, last, ...rest } = NOTE.properties
  const properties = {
    ...rest,
    last,
    given: { ...first, renamedFrom: 'first' },
    name: { ...rest.name, computed: '{last}' },
  }
  const renamed = { ...NOTE, properties, search: ['given', 'name'] }
  writeModel(service.folder, 's.Note.json', renamed)
  await service.service.reload()
  t.strictSame([await total('anna'), await total('celik')], [1, 1], 'a field that has changed its name')
})

t.test('an index of a model whose file is gone for a while stays, and stays right', sqliteOnly, async (t) => {
  const service = await startApp(t, { models: { ...MODELS, 's.Other.json': NOTE } })
  const client = await service.login()
  await client.put(NOTES, { first: 'Anna' })
  await fill(service)
  rmSync(join(service.folder, 'models', 's.Note.json'))
  await service.service.reload()
  await atShell(service.config, `UPDATE "${TABLE}" SET first = 'Zebra' WHERE id = 1`)
  writeModel(service.folder, 's.Note.json', NOTE)
  await service.service.reload()
  t.ok(isFilled(service))
  t.match((await client.get(`${NOTES}?q=zebra`)).body, { total: 1 })
})

t.test('an index whose model was searched in another way for a while is not used', sqliteOnly, async (t) => {
  const service = await startApp(t, { models: MODELS })
  const client = await service.login()
  await client.put(NOTES, { first: 'Anna' })
  for (const between of [{ search: ['last'] }, { search: undefined, list: ['number'] }]) {
    await fill(service)
    t.ok(isFilled(service))
    writeModel(service.folder, 's.Note.json', { ...NOTE, ...between })
    await service.service.reload()
    const { version } = (await client.get(`${NOTES}/1`)).body.data[0]
    const first = `Zebra ${version}`
    await client.post(`${NOTES}/1`, { version, first })
    writeModel(service.folder, 's.Note.json', NOTE)
    await service.service.reload()
    t.match((await client.get(`${NOTES}?q=${encodeURIComponent(`"${first}"`)}`)).body, { total: 1 })
  }
})

t.test('models whose names resemble the tables of an index', sqliteOnly, async (t) => {
  const names = ['s.Note', 's.Note_data', 's.Note_config']
  const service = await startApp(t, { models: Object.fromEntries(names.map((name) => [`${name}.json`, NOTE])) })
  const client = await service.login()
  for (const name of names) {
    await client.put(`/ws/rest/${name}`, { first: 'Anna', last: name })
    await fill(service, modelOf(name, NOTE))
  }
  for (const name of names) t.match((await client.get(`/ws/rest/${name}?q=anna`)).body, { total: 1 }, name)
  writeModel(service.folder, 's.Note_data.json', {
    ...NOTE,
    properties: {
      ...NOTE.properties,
      second: { type: 'string', renamedFrom: 'last' },
      name: { type: 'string', computed: '{first}' },
      last: undefined,
    },
  })
  await service.service.reload()
  t.match((await client.get('/health')).body.data, [{ models: { current: true } }])
  t.match((await client.get('/ws/rest/s.Note?q=anna')).body, { total: 1 })
})

t.test('an index that is made anew in the middle of a search', sqliteOnly, async (t) => {
  const service = await startApp(t, { models: MODELS })
  const client = await service.login()
  await client.put(NOTES, { first: 'Anna' })
  await fill(service)
  const { storage } = service
  const search = storage.search.bind(storage)
  storage.search = async (...given) => {
    storage.search = search
    await sql`DELETE FROM dossier_tables WHERE tbl = ${searchIndexName(TABLE)}`.execute(service.db)
    return search(...given)
  }
  t.match((await client.get(`${NOTES}?q=anna`)).body, { total: 1 })
})

const postgresOnly = isPostgres ? {} : { skip: 'about PostgreSQL itself' }

t.test('an index of PostgreSQL proposes records, if it can be created', postgresOnly, async (t) => {
  const service = await startApp(t, { models: MODELS })
  const client = await service.login()
  const { storage } = service
  const warnings: string[] = []
  const parts = {
    log: { warn: (reason: string) => void warnings.push(reason) },
    models: () => [MODEL],
    countUnits: () => 0,
    onError: (task: string, error: unknown) => t.fail(task, { error }),
  }
  await addMany(service, MIN_LAST_ID_FOR_INDEX + 1)
  const without = { ...parts, log: parts.log }
  const change = storage.runWriteJob.bind(storage)
  storage.runWriteJob = (async () => 'pg_trgm is missing') as unknown as typeof change
  const stopWithout = maintainSearchIndexes(storage, without, 1)
  await waitUntil(t, () => warnings.length > 0, 'what is missing is told')
  await sleep(100)
  stopWithout()
  t.equal(warnings.length, 1, 'once')
  storage.runWriteJob = change
  const stop = maintainSearchIndexes(storage, parts, 1)
  t.teardown(stop)
  await waitUntil(t, () => isFilled(service), 'it is created')
  const oid = async () =>
    (await sql<{ oid: number }>`SELECT oid FROM pg_class WHERE relname LIKE '%\\_\\_words'`.execute(service.db)).rows
  const created = await oid()
  t.equal(await storage.runWriteJob(CREATE_TRIGRAMS, trigramInput(MODEL, storage.dialect.tables)), undefined)
  t.strictSame([created.length, await oid()], [1, created], 'and not again by somebody who has waited for that')
  await atShell(service.config, `ANALYZE "${TABLE}"`)
  const statements: Statement[] = []
  const search = storage.search.bind(storage)
  storage.search = (statement, options) => {
    statements.push(statement)
    return search(statement, options)
  }
  await client.put(NOTES, { first: 'Zoë', last: 'Ångström', number: 987_654 })
  for (const [q, total] of [
    ['zoe', 1],
    ['angstrom 8765', 1],
    ['zo', 1],
    ['zoe jurgen', 0],
    ['number 4711', 1],
  ] as const)
    t.match((await client.get(`${NOTES}?q=${encodeURIComponent(q)}`)).body, { total }, q)
  const [first] = statements as [Statement]
  const text = `dossier_fold(coalesce("name"::text, '') || chr(31) || coalesce("number"::text, ''))`
  t.match(first.sql, `${text} LIKE`)
  const shell = new pg.Client(service.config.DATABASE_URL)
  await shell.connect()
  const { rows } = await shell.query(`EXPLAIN SELECT id FROM "${TABLE}" WHERE ${text} LIKE '%zoe%'`)
  await shell.end()
  t.match(JSON.stringify(rows), 's__Note__words', 'the index is used')

  const renamed = { ...NOTE, properties: { ...NOTE.properties, number: { type: 'string' } } }
  writeModel(service.folder, 's.Note.json', renamed)
  await service.service.reload()
  t.match((await client.get(`${NOTES}?q=8765`)).body, { total: 1 }, 'a table that was made anew has none yet')
  t.notOk(isFilled(service, modelOf('s.Note', renamed)))
  stop()
  t.teardown(maintainSearchIndexes(storage, { ...parts, models: () => [modelOf('s.Note', renamed)] }, 1))
  await waitUntil(t, () => isFilled(service, modelOf('s.Note', renamed)), 'and gets one')
  t.match((await client.get(`${NOTES}?q=8765`)).body, { total: 1 })
})

t.test('an extension that cannot be created', postgresOnly, async (t) => {
  const asked: string[] = []
  const db = createKyselyDatabase(async ({ sql: text }) => {
    asked.push(text)
    if (text.startsWith('CREATE')) throw new Error('permission denied')
    return []
  })
  t.match(await TRIGRAM_INDEX.ensureExtension(db), /permission denied.*CREATE EXTENSION pg_trgm/)
  t.equal(asked.length, 2)
  const input = trigramInput(MODEL, db.dialect.tables)
  t.match(await createTrigrams(db, input), /permission denied/)
  t.equal(asked.length, 5, 'and no index')
})
