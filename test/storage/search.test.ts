import { renameSync, statSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { fold, foldPattern } from '../../src/lib/fold.ts'
import { databaseFile } from '../../src/storage/sqlite/connections.ts'
import { openStorage } from '../../src/storage/sqlite/engine.ts'
import { createLikeMatcher } from '../../src/storage/sqlite/like.ts'
import { type SearchOptions, type Storage, StorageFault } from '../../src/storage/storage.ts'
import { emptyFolder, testStorage } from '../helper.ts'

/** Goes on until it is ended from the inside. */
const ENDLESS = {
  sql: 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE dossier_alive()) SELECT count(*) AS n FROM n',
  parameters: [],
}
const QUICK = { sql: 'SELECT 7 AS n', parameters: [] }
const options = (more: Partial<SearchOptions> = {}): SearchOptions => ({
  username: 'ada',
  seconds: 3600,
  bytes: 1e9,
  shapes: {},
  ...more,
})

const kindOf = (search: Promise<unknown>) =>
  search.then(
    () => 'found',
    (error) => (error instanceof StorageFault ? error.kind : String(error)),
  )

t.test('a search ends at its limit, and when nobody waits for it any more', async (t) => {
  const storage = await testStorage(t)
  t.equal(await kindOf(storage.search(ENDLESS, options({ seconds: 0.02 }))), 'slow')
  t.equal(await kindOf(storage.search(ENDLESS, options({ seconds: 0.3 }))), 'slow')
  const gone = new AbortController()
  const search = kindOf(storage.search(ENDLESS, options({ signal: gone.signal })))
  t.strictSame(await storage.search(QUICK, options()), { rows: [{ n: 7 }], isTruncated: false }, 'others go on')
  gone.abort()
  t.equal(await search, 'cancelled')
  t.equal(await kindOf(storage.search(ENDLESS, options({ signal: gone.signal }))), 'cancelled', 'who has left before')
  t.equal(await kindOf(storage.search({ sql: 'SELECT * FROM nowhere', parameters: [] }, options())), 'missing-table')
  t.equal(await kindOf(storage.search(QUICK, options({ shapes: { a__B: 'other' } }))), 'stale')
})

t.test('one person’s slow searches take turns among themselves', async (t) => {
  const storage = await testStorage(t)
  const [first, waiting] = [new AbortController(), new AbortController()]
  const searches = [first, waiting].map(({ signal }) => kindOf(storage.search(ENDLESS, options({ signal: signal }))))
  const other = new AbortController()
  const theirs = kindOf(storage.search(ENDLESS, options({ username: 'bob', signal: other.signal })))
  // Until all of them are where the slow ones are.
  for (let i = 0; i < 5; i++) await kindOf(storage.search(ENDLESS, options({ username: 'eve', seconds: 0.05 })))
  waiting.abort()
  t.equal(await searches[1], 'cancelled', 'who waits in line can leave it')
  other.abort()
  t.equal(await theirs, 'cancelled')
  first.abort()
  t.equal(await searches[0], 'cancelled')
  t.match(await storage.search(QUICK, options()), { rows: [{ n: 7 }] })
})

t.test('no more wait than there is room for, and a close ends them all', async (t) => {
  const storage: Storage = await testStorage(t)
  const kinds = Array.from({ length: 120 }, () => kindOf(storage.search(ENDLESS, options())))
  const full = await Promise.race(kinds)
  t.equal(full, 'busy')
  await storage.close()
  t.strictSame([...new Set(await Promise.all(kinds))].sort(), ['busy', 'cancelled'])
})

t.test('more bytes than are wanted are not read', async (t) => {
  const storage = await testStorage(t)
  const rows = (size: number) => ({
    sql: `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9) SELECT printf('%0${size}d', i) AS x FROM n`,
    parameters: [],
  })
  t.match(await storage.search(rows(100), options({ bytes: 250 })), { isTruncated: true, rows: { length: 2 } })
  t.match(await storage.search(rows(100), options({ bytes: 900 })), { isTruncated: false, rows: { length: 9 } })
  t.match(
    await storage.search(rows(1000), options({ bytes: 10 })),
    { isTruncated: true, rows: { length: 1 } },
    'one at least',
  )
})

/** LIKE as one would write it without a thought to time. */
function naive(text: string, pattern: string): boolean {
  const source = [...fold(pattern).matchAll(/\\([\s\S])|([\s\S])/gu)]
    .map(([, escaped, plain]) => {
      if (plain === '%') return '[\\s\\S]*'
      return plain === '_' ? '[\\s\\S]' : RegExp.escape((escaped ?? plain) as string)
    })
    .join('')
  return new RegExp(`^${source}$`, 'u').test(fold(text))
}

t.test('our LIKE is LIKE', async (t) => {
  const letters = fc.string({
    unit: fc.constantFrom('a', 'B', 'b', 'é', 'É', 'Σ', 'ς', '💡', '%', '_', '\\'),
    maxLength: 12,
  })
  const piece = fc.constantFrom('a', 'b', 'É', 'σ', 'Σ', '💡', '%', '_', '\\%', '\\_', '\\\\')
  const pattern = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(''))
  fc.assert(
    fc.property(letters, pattern, (text, wanted) => {
      const folded = foldPattern(wanted) as string
      return createLikeMatcher(folded, () => {})(text) === naive(text, folded)
    }),
    { seed: 5, numRuns: 5000 },
  )
  const long = `${'a'.repeat(200_000)}b`
  let asked = 0
  const matcher = (wanted: string) => createLikeMatcher(wanted, () => asked++)
  t.ok(matcher('%aaab')(long))
  t.ok(matcher('%aaab%')(long))
  t.notOk(matcher('%abb%')(long))
  t.ok(asked > 3, 'and it can be ended in the middle')
  asked = 0
  for (const wanted of ['%q%', '%qu%']) t.notOk(matcher(wanted)('é'.repeat(2000)))
  t.equal(asked, 2, 'also between texts that are looked at in one go')
  t.notOk(matcher('b%')(long))
  // Windows and ends do not cut characters in half.
  for (const length of [65_526, 65_535, 65_536, 65_537, 65_544])
    t.notOk(matcher('%a_%_')(`${'x'.repeat(length)}a💡`), `${length}`)
  t.ok(matcher('%💡_')(`${'💡'.repeat(40_000)}`))
  t.ok(matcher('%💡z%')(`x${'💡'.repeat(40_000)}z`))
  t.ok(matcher('e_x')('éİx'))
  t.ok(matcher('a%b')(long))
})

t.test('both ways of saying LIKE in SQL are one', async (t) => {
  const storage = await testStorage(t)
  const { db, dialect } = storage
  const fits = async (text: string, pattern: string) => {
    const { sql } = await import('kysely')
    const query = sql<{ fits: number | null }>`SELECT ${dialect.like(sql`${text}`, pattern)} AS fits`.compile(db)
    const { rows } = await storage.search(query, options())
    return rows[0]?.fits
  }
  for (const filler of ['', 'x'.repeat(2000)]) {
    t.equal(await fits(`Straße 5${filler}`, 'STRASSE%'), 1)
    t.equal(await fits(`José  García${filler}`, 'jose garcia%'), 1)
    t.equal(await fits(`Jose\tGarcia${filler}`, 'JOSÉ GARCÍA%'), 1)
    t.equal(await fits(`Garcia${filler}`, 'gárcib%'), 0)
    t.equal(await fits(`x${filler}`, 'x%\\'), 0)
    t.equal(await fits(`Main Street${filler}`, 'main%'), 1)
    t.equal(await fits(`C:\\temp${filler}`, '%C:\\\\temp%'), 1)
    t.equal(await fits(`ΟΔΟΣΑ${filler}`, '%οδος%'), 1)
    t.equal(await fits(`ÉCOLE${filler}`, '%école%'), 1)
    t.equal(await fits(`100 %${filler}`, '100 \\%%'), 1)
  }
  t.equal(await fits(null as unknown as string, '%é%'), null)
})

t.test('searches that overlap all the time do not keep the log from starting over', async (t) => {
  const folder = emptyFolder(t)
  const storage = await openStorage(folder, {}, 1_000_000)
  t.teardown(() => storage.close())
  await storage.write({ steps: [{ sql: 'CREATE TABLE page (text TEXT)', parameters: [] }] })
  // Each looks at the table, and goes on for a while. It must not read the whole table, which cannot be ended.
  const look = {
    sql: `WITH RECURSIVE n(i) AS (SELECT max(rowid) FROM page UNION ALL SELECT i + 1 FROM n WHERE dossier_alive()) SELECT count(*) FROM n`,
    parameters: [],
  }
  let isOn = true
  const searching = ['ada', 'bob', 'eve'].map(async (username) => {
    while (isOn) await kindOf(storage.search(look, options({ username, seconds: 0.25 })))
  })
  const write = { sql: 'INSERT INTO page VALUES (?)', parameters: ['x'.repeat(4000)] }
  const log = `${databaseFile(folder)}-wal`
  let started = 0
  for (let last = 0; started < 2; last = statSync(log).size) {
    await storage.write({ steps: [write] })
    if (statSync(log).size < last) started++
  }
  isOn = false
  await Promise.all(searching)
  t.pass('it has started over, twice')
})

t.test('a log that cannot be emptied is told, and everything goes on', async (t) => {
  const folder = emptyFolder(t)
  const failed: string[] = []
  const storage = await openStorage(folder, { onError: (task) => void failed.push(task) }, 100_000)
  t.teardown(() => storage.close())
  await storage.write({ steps: [{ sql: 'CREATE TABLE page (text TEXT)', parameters: [] }] })
  // Nobody can open it anew.
  renameSync(databaseFile(folder), join(folder, 'away'))
  const write = { sql: 'INSERT INTO page VALUES (?)', parameters: ['x'.repeat(4000)] }
  while (failed.length === 0) await storage.write({ steps: [write] })
  t.match(failed, [/emptying the write-ahead log/])
  renameSync(join(folder, 'away'), databaseFile(folder))
  await storage.write({ steps: [write] })
})
