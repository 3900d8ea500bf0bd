import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import t from 'tap'
import type { Failure } from '../../src/errors.ts'
import { createAccess } from '../../src/filters/access.ts'
import { ResumableImport } from '../../src/journal/resumable-import.ts'
import { byName } from '../../src/model/model.ts'
import { KnownTotals } from '../../src/records/find/known-totals.ts'
import type { ImportProgress } from '../../src/records/import/failures.ts'
import { ImportLimits } from '../../src/records/import/limits.ts'
import { readRows } from '../../src/records/import/read-rows.ts'
import { createRecords } from '../../src/records/records.ts'
import { UserLimits } from '../../src/records/user-limits.ts'
import { Cursors } from '../../src/requests/cursor.ts'
import { type Storage, StorageFault } from '../../src/storage/storage.ts'
import { emptyFolder, migrateTo, modelOf, testStorage } from '../helper.ts'

const ADMIN = { username: 'admin', roles: ['admin'] }
const ANN = { username: 'ann', roles: ['maker'] }
const OWN = { read: [{ role: '*', where: 'own' }], create: ['maker'], update: ['*'], delete: ['*'] }
const item = modelOf('a.Item', {
  type: 'object',
  properties: {
    code: { type: 'string', unique: true },
    n: { type: 'integer' },
    about: { type: 'integer', reference: 'a.Item' },
    level: { type: 'integer', default: 1 },
  },
  access: OWN,
})

/** A storage where something happens right before some writes, or after a study. */
async function withRecords(t: Parameters<typeof testStorage>[0]) {
  const storage = await testStorage(t)
  await migrateTo(storage, [item])
  const before: (() => unknown)[] = []
  const after: (() => unknown)[] = []
  const overrides: Partial<Storage> = {
    write: async (unit) => {
      await before.shift()?.()
      return storage.write(unit)
    },
    runReadJob: async (...words) => {
      const result = await storage.runReadJob(...words)
      await after.shift()?.()
      return result
    },
  }
  const watched = new Proxy(storage, {
    get: (target, name) => {
      const own = overrides[name as keyof Storage] ?? target[name as keyof Storage]
      return typeof own === 'function' ? own.bind(target) : own
    },
  })
  const context = {
    storage: watched,
    models: byName([item]),
    access: createAccess(byName([item]), storage.db),
    cursors: new Cursors('secret'),
    totals: new KnownTotals(watched),
    limits: new UserLimits(),
    findSeconds: 1,
    exportSeconds: 1,
    maxRecordLength: 1_000_000,
    advise: () => {},
  }
  const records = createRecords(context, item)
  const folder = emptyFolder(t)
  const file = join(folder, 'file')
  const load = (text: string, more = {}, user = ADMIN) => {
    writeFileSync(file, text)
    const how = { file, checked: `${file}.checked`, format: 'csv' as const, delimiter: ',', dryRun: false }
    return records.importAll({ ...how, ...more }, user)
  }
  const run = (sql: string) => storage.write({ steps: [{ sql, parameters: [] }] })
  const rows = () => storage.read({ sql: 'SELECT code, n, version FROM "a__Item" ORDER BY id', parameters: [] })
  return { storage, before, after, load, run, rows }
}

const key = { key: 'code' }
const rejects = (code: string, message: RegExp, more = {}) => ({ code, message, ...more })

t.test('somebody else is faster', async (t) => {
  const { before, load, run, rows } = await withRecords(t)
  await load('code,n\na,1\nb,1\n')
  before.push(() => run(`UPDATE "a__Item" SET n = 5, version = version + 1 WHERE code = 'a'`))
  t.match(await load('code,n\na,2\n', key), { created: 0, updated: 1 }, 'without a version the row is the last word')
  before.push(() => run(`INSERT INTO "a__Item" (code, n, version) VALUES ('c', 7, 3)`))
  t.match(await load('code,n\nc,8\n', key), { created: 0, updated: 1 }, 'what was to be made is there')
  before.push(() => run(`DELETE FROM "a__Item" WHERE code = 'c'`))
  t.match(await load('code,n\nc,9\n', key), { created: 1, updated: 0 }, 'what was to be changed is gone')
  t.strictSame(await rows(), [
    { code: 'a', n: 2, version: 2 },
    { code: 'b', n: 1, version: 0 },
    { code: 'c', n: 9, version: 0 },
  ])
  before.push(() => run('DELETE FROM "a__Item" WHERE id = 2'))
  await t.rejects(
    load('id,n\n2,3\n', { key: 'id' }),
    rejects('RECORD_NOT_FOUND', /^Line 2: The a.Item that it is about is not there any more/),
  )
  before.push(() => run(`UPDATE "a__Item" SET version = version + 1 WHERE code = 'a'`))
  await t.rejects(
    load('code,version,n\na,2,3\n', key),
    rejects('VERSION_CONFLICT', /^Line 2: Version 2 of a.Item 1 is not/),
  )
  before.push(() => run(`INSERT INTO "a__Item" (code) VALUES ('d')`))
  await t.rejects(
    load('code\nd\n'),
    rejects('NOT_UNIQUE', /^Line 2: Another a.Item has the same code/, {
      details: { errors: { '2.code': 'is taken' } },
    }),
  )
  const always = () => {
    before.push(always)
    return run(`UPDATE "a__Item" SET version = version + 1 WHERE code = 'a'`)
  }
  before.push(always)
  await t.rejects(load('code,n\na,99\n', key), rejects('VERSION_CONFLICT', /^Line 2/), 'not for ever')
})

t.test('what comes in between says how far it was', async (t) => {
  const { storage, before, after, load, run, rows } = await withRecords(t)
  const many = `code,n\n${Array.from({ length: 70 }, (_, i) => `c${i},${i}`).join('\n')}\n`
  before.push(
    () => {},
    () => run(`INSERT INTO "a__Item" (code) VALUES ('c60')`),
  )
  // The first portion has 50 rows; the size of the next one depends on how fast the machine was.
  const failed = await load(many).then(
    () => undefined,
    (error: Failure) => error,
  )
  const [{ created } = { created: 0 }] = (failed?.details.data ?? []) as { created: number }[]
  t.ok(created >= 50 && created <= 60, String(created))
  t.match(failed, {
    code: 'NOT_UNIQUE',
    message: new RegExp(
      `^Line 62: .* Until then ${created} records were created and 0 updated\\. With an Idempotency-Key`,
    ),
    details: { data: [{ created, updated: 0, unchanged: 0 }] },
  })
  t.equal((await rows()).length, created + 1)
  await run('DELETE FROM "a__Item"')
  const sent = { username: 'admin', key: 'many', hash: 'h' }
  before.push(
    () => {},
    () => run(`INSERT INTO "a__Item" (code) VALUES ('c60')`),
  )
  await t.rejects(
    load(many, { resumable: await ResumableImport.begin<ImportProgress>(storage, sent) }),
    rejects('NOT_UNIQUE', /^Line 62/),
  )
  await t.rejects(
    load(many, { resumable: await ResumableImport.begin<ImportProgress>(storage, sent) }),
    rejects('VALIDATION_FAILED', /^Nothing was written but the (?:5\d|60) rows of before\. There is one fault/),
  )
  await run(`DELETE FROM "a__Item" WHERE code = 'c60'`)
  const rest = await load(many, { resumable: await ResumableImport.begin<ImportProgress>(storage, sent) })
  t.strictSame(rest, { created: 70, updated: 0, unchanged: 0 }, 'it goes on where it was')
  t.equal((await rows()).length, 70)
  const fails = (kind: 'busy' | 'full') => () => {
    throw new StorageFault(kind, 'The reason.')
  }
  before.push(fails('busy'), fails('busy'))
  t.match(await load('code\nx\n'), { created: 1 }, 'it is patient')
  before.push(...Array.from({ length: 10 }, () => fails('busy')))
  await t.rejects(load('code\ny\n'), rejects('UNAVAILABLE', /^The reason\. Until then 0 records/))
  before.push(() => {
    throw new StorageFault('full', 'The reason.', { step: 0 })
  })
  await t.rejects(load('code\ny\n'), rejects('STORAGE_FULL', /^The reason/))
  before.push(fails('full'))
  await t.rejects(load('code\ny\n'), rejects('STORAGE_FULL', /^The reason/))
  before.push(() => {
    throw new Error('a fault of ours')
  })
  await t.rejects(load('code\ny\n'), { message: 'a fault of ours' })
  await load('code\nmine\n', {}, ANN)
  const [[mine] = []] = await run(`SELECT id FROM "a__Item" WHERE code = 'mine'`)
  const id = mine?.id as number
  after.push(() => run(`DELETE FROM "a__Item" WHERE id = ${id}`))
  await t.rejects(
    load(`code,about\nz,${id}\n`, {}, ANN),
    rejects('REFERENCE_VIOLATION', /^Line 2: about: there is no a.Item/),
    'when it was checked it was there',
  )
})

t.test('of two who go on with the same, one is overtaken', async (t) => {
  const { storage, after, load, rows } = await withRecords(t)
  const sent = { username: 'admin', key: 'k', hash: 'h' }
  const [one, two] = [
    await ResumableImport.begin<ImportProgress>(storage, sent),
    await ResumableImport.begin<ImportProgress>(storage, sent),
  ]
  t.match(await load('code\na\n', { resumable: one }), { created: 1 })
  await t.rejects(load('code\na\n', { resumable: two }), { code: 'KEY_IN_USE' }, 'what is taken was taken by the same')
  const late = await ResumableImport.begin<ImportProgress>(storage, { ...sent, key: 'l' })
  after.push(async () =>
    load('code\nb\n', { resumable: await ResumableImport.begin<ImportProgress>(storage, { ...sent, key: 'l' }) }),
  )
  await t.rejects(load('code\nb\n', { resumable: late }), { code: 'KEY_IN_USE' })
  t.equal((await rows()).length, 2)
  t.match(
    await load('code\nb\n', { resumable: await ResumableImport.begin<ImportProgress>(storage, { ...sent, key: 'l' }) }),
    {
      created: 1,
    },
  )
  await t.rejects(ResumableImport.begin<ImportProgress>(storage, { ...sent, hash: 'other' }), { code: 'KEY_REUSED' })
})

t.test('a file that cannot be read, and one that has no end', async (t) => {
  const { load } = await withRecords(t)
  await t.rejects(load('code\na\n', { file: '/' }), { code: 'EISDIR' })
  await t.rejects(load('code\na\n', { checked: '/dev/full' }), { message: 'The disk is full.' })
  const file = join(emptyFolder(t), 'long')
  writeFileSync(file, `code\n${'x'.repeat(1000)}\n{"code":"${'x'.repeat(1000)}`)
  for (const format of ['csv', 'ndjson'] as const) {
    const through = async () => {
      for await (const _ of readRows(file, { format, delimiter: ',' }, { onBytes() {}, onColumns() {}, longest: 500 }));
    }
    await t.rejects(through(), { message: /is not right: Max Record Size|is too long/ }, format)
  }
})

t.test('a disk that is full', async (t) => {
  const fs = await import('node:fs')
  const { spool } = await t.mockImport<typeof import('../../src/records/import/spool.ts')>(
    '../../src/records/import/spool.ts',
    {
      'node:fs': { ...fs, createWriteStream: () => fs.createWriteStream('/dev/full') },
    },
  )
  const folder = emptyFolder(t)
  for (const chunks of [['x'], Array.from({ length: 50 }, () => 'x'.repeat(100_000))])
    await t.rejects(spool(Readable.from(chunks.map((text) => Buffer.from(text))), folder, 1e9), {
      name: 'StorageFault',
    })
  t.strictSame(fs.readdirSync(join(folder, 'imports')), [])
})

t.test('one of each person, and only so many at once', async (t) => {
  const limits = new ImportLimits()
  const giveBack = limits.claim('a')
  t.throws(() => limits.claim('a'), { code: 'UNAVAILABLE', message: /You have an import/ })
  limits.claim('b')
  giveBack()
  limits.claim('a')
  const begun: number[] = []
  const ends: (() => void)[] = []
  const works = Array.from({ length: 6 }, (_, nth) =>
    limits.run(() => {
      begun.push(nth)
      return new Promise<void>((resolve) => ends.push(resolve))
    }),
  )
  await new Promise(setImmediate)
  t.strictSame(begun, [0, 1, 2, 3], 'the others wait in line')
  ends[1]?.()
  await works[1]
  await new Promise(setImmediate)
  t.strictSame(begun, [0, 1, 2, 3, 4])
  for (let nth = 0; nth < 6; nth++) {
    ends[nth]?.()
    await new Promise(setImmediate)
  }
  await Promise.all(works)
})

t.test('whose rights are changed meanwhile does not go on', async (t) => {
  const { load, rows } = await withRecords(t)
  const many = `code\n${Array.from({ length: 70 }, (_, i) => `c${i}`).join('\n')}\n`
  const answers = [ADMIN, ADMIN, undefined]
  await t.rejects(
    load(many, { refreshUser: () => answers.shift() }),
    rejects('FORBIDDEN', /rights have been changed.*50 records/s),
  )
  t.equal((await rows()).length, 50)
  await t.rejects(load('code\nx\n', { refreshUser: () => ({ ...ADMIN, roles: [] }) }), { code: 'FORBIDDEN' })
})

t.test('who may not create does not, whatever others do meanwhile', async (t) => {
  const { before, load, run, rows } = await withRecords(t)
  await load('code,n\na,1\n')
  const updater = { username: 'up', roles: ['up'] }
  before.push(() => run('DELETE FROM "a__Item"'))
  await t.rejects(load('code,n\na,2\n', key, updater), rejects('RECORD_NOT_FOUND', /^Line 2/))
  t.strictSame(await rows(), [])
  await load('code,n\na,1\n')
  before.push(() => run(`INSERT INTO "a__Item" (code, n, level) VALUES ('new', 7, 9)`))
  t.match(await load('code\nnew\n', key), { updated: 1 })
  const [[stored] = []] = await run(`SELECT n, level FROM "a__Item" WHERE code = 'new'`)
  t.strictSame(stored, { n: 7, level: 9 }, 'what is not in the file is not touched, defaults least of all')
})

t.test('uploads are bounded in sum', async (t) => {
  const limits = new ImportLimits()
  const [one, two] = [limits.countUpload(100), limits.countUpload(100)]
  one.add(100)
  two.add(300)
  t.throws(() => one.add(1), { code: 'UNAVAILABLE' })
  two.clear()
  one.add(1)
  one.clear()
  two.clear()
})
