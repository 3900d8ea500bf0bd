import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { PassThrough } from 'node:stream'
import Sqlite from 'better-sqlite3'
import t, { type Test } from 'tap'
import { HELP as BACKUP_HELP, backupCommand } from '../../src/cli/backup.ts'
import { progressBar } from '../../src/cli/progress.ts'
import { HELP as RESTORE_HELP, restoreCommand } from '../../src/cli/restore.ts'
import { giveToOwner, makeFolder as makePrivateFolder } from '../../src/lib/file-owner.ts'
import { createLogger } from '../../src/logging.ts'
import { restoreDatabase } from '../../src/storage/open.ts'
import { openStorage } from '../../src/storage/sqlite/engine.ts'
import { backupIfDue, scheduleBackups } from '../../src/upkeep/backups.ts'
import { PASSWORD } from '../client.ts'
import { commandRunner, runScript } from '../commands.ts'
import { CONTACT, configOf, emptyFolder, logSink, makeFolder, type Running, startApp, testStorage } from '../helper.ts'

const CONTACTS = '/ws/rest/contacts.Contact'

const runner =
  (folder: string) =>
  (script: string, words: string[] = []) => {
    const [help, command] = script === 'backup' ? [BACKUP_HELP, backupCommand] : [RESTORE_HELP, restoreCommand]
    return commandRunner(help, command, { DATA_DIR: join(folder, 'data') })(words.join(' '))
  }

t.test('a backup while the service runs, and a restore when it does not', async (t) => {
  const folder = makeFolder(t)
  const run = runner(folder)
  const first = await startApp(t, { folder })
  const client = await first.login()
  await client.put(CONTACTS, { firstName: 'Ada' })
  const made = await runScript('backup.ts', [], { DATA_DIR: join(folder, 'data') })
  t.match(made, { code: 0, err: '' })
  const copy = made.out.trim()
  t.match(copy, /data\/backups\/backup-.*\.db$/)
  t.match(await run('backup', [join(folder, 'mine.db')]), { code: 0, out: /mine\.db\n$/ })
  t.ok(existsSync(join(folder, 'mine.db')))
  t.match(await run('backup', [join(folder, 'mine.db')]), { code: 1, err: /exists already/ }, 'nothing is overwritten')
  await client.put(CONTACTS, { firstName: 'Bob' })

  t.match(await run('restore', [copy]), { code: 1, err: 'The service is running. Stop it first.\n' })
  t.notOk(existsSync(join(folder, 'data', 'dossier.db.restoring')), 'a refusal leaves nothing behind')
  t.equal((await client.get(CONTACTS)).body.total, 2)
  await first.close()
  const restored = await runScript('restore.ts', [copy], { DATA_DIR: join(folder, 'data') })
  t.match(restored, { code: 0, out: /is restored\. What was there is kept as .*replaced-/ })
  const second = await startApp(t, { folder })
  const again = await second.login('admin', PASSWORD)
  t.equal((await again.get(CONTACTS)).body.total, 1)
  await second.close()
  const kept = readdirSync(join(folder, 'data', 'backups')).find((name) => name.startsWith('replaced')) as string
  /** Records that are there while no service runs. */
  const stored = () => {
    const database = new Sqlite(join(folder, 'data', 'dossier.db'), { readonly: true })
    const count = database.prepare('SELECT count(*) FROM contacts__Contact').pluck().get()
    database.close()
    return count
  }
  await run('restore', [join(folder, 'data', 'backups', kept)])
  t.equal(stored(), 2, 'what was replaced can be had back')

  t.match(await run('backup', ['a', 'b']), { code: 2, err: /Usage/ })
  t.match(await run('restore'), { code: 2, err: /Name one file/ })
  t.match(await runner(emptyFolder(t))('backup'), { code: 1, err: /There is no database in/ })
  t.match(await run('restore', ['nowhere.db']), { code: 1, err: /does not exist/ })
  writeFileSync(join(folder, 'bad.db'), 'x'.repeat(5000))
  t.match(await run('restore', [join(folder, 'bad.db')]), { code: 1, err: /not a healthy copy.*Nothing was changed/ })
  // What a copy that failed leaves, and what another program wrote: both are healthy databases to SQLite.
  writeFileSync(join(folder, 'empty.db'), '')
  const foreign = new Sqlite(join(folder, 'foreign.db'))
  foreign.exec('CREATE TABLE something (x)')
  foreign.close()
  for (const name of ['empty.db', 'foreign.db'])
    t.match(await run('restore', [join(folder, name)]), {
      code: 1,
      err: /no database of Dossier\)\. Nothing was changed/,
    })
  t.strictSame(
    readdirSync(folder).filter((name) => /-(?:wal|shm)$/.test(name)),
    [],
    'nothing is left beside a backup',
  )
  t.notOk(existsSync(join(folder, 'data', 'dossier.db.restoring')))
  t.equal(stored(), 2)
})

t.test('only the service’s own user may read what is stored', async (t) => {
  const folder = emptyFolder(t)
  const data = join(folder, 'data')
  const modes = (...names: string[]) => names.map((name) => (statSync(join(data, name)).mode & 0o777).toString(8))
  const before = process.umask(0)
  t.teardown(() => process.umask(before))
  const first = await openStorage(data)
  await first.db.insertInto('dossier_former').values({ username: 'x' }).execute()
  const files = ['dossier.db', 'dossier.db-wal', 'dossier.db-shm']
  t.strictSame(modes('.', ...files), ['700', '600', '600', '600'])
  const copy = (await runner(folder)('backup')).out.trim()
  t.strictSame(modes('backups', join('backups', basename(copy))), ['700', '600'])
  await first.close()
  // As an earlier version left them.
  for (const name of ['.', 'backups']) chmodSync(join(data, name), 0o755)
  for (const name of ['dossier.db']) chmodSync(join(data, name), 0o644)
  const second = await openStorage(data)
  t.strictSame(modes('.', 'backups', 'dossier.db'), ['700', '700', '600'])
  await second.close()
  chmodSync(copy, 0o644)
  await runner(folder)('restore', [copy])
  t.strictSame(modes('dossier.db'), ['600'])
  // A folder with other things in it is not ours alone.
  writeFileSync(join(data, 'notes.txt'), 'mine')
  chmodSync(data, 0o755)
  await (await openStorage(data)).close()
  t.strictSame(modes('.', 'dossier.db'), ['755', '600'])
})

t.test('a file is named from where the person stands', async (t) => {
  const folder = emptyFolder(t)
  await (await testStorage(t, folder)).close()
  const env = { DATA_DIR: join(folder, 'data'), INIT_CWD: folder }
  t.match(await commandRunner(BACKUP_HELP, backupCommand, env)('here.db'), {
    code: 0,
    out: `${join(folder, 'here.db')}\n`,
  })
  t.match(await commandRunner(RESTORE_HELP, restoreCommand, env)('here.db'), { code: 0, out: /here\.db is restored/ })
})

t.test('restoring where there is nothing, or something damaged', async (t) => {
  const folder = emptyFolder(t)
  const storage = await testStorage(t, folder)
  await storage.close()
  const copy = join(folder, 'copy.db')
  copyFileSync(join(folder, 'data', 'dossier.db'), copy)
  rmSync(join(folder, 'data'), { recursive: true })
  t.match(await runner(folder)('restore', [copy]), {
    code: 1,
    err: /There is no database in .*data\. .*or say --create/,
  })
  t.notOk(existsSync(join(folder, 'data')), 'a wrong folder is not filled')
  t.match(await runner(folder)('restore', [copy, '--create']), { code: 0, out: /is restored\.\n$/ })
  writeFileSync(join(folder, 'data', 'dossier.db'), 'no longer a database '.repeat(300))
  const kept = restoreDatabase(join(folder, 'data'), copy) as string
  const older = new Sqlite(copy)
  // As a version before the history made it.
  older.exec(`DROP TABLE dossier_changes; DROP TABLE dossier_renames; DROP TABLE dossier_secrets; DROP TABLE dossier_keys;
    DROP TABLE dossier_tokens; DROP TABLE dossier_restores; DROP TABLE dossier_state; DROP TABLE dossier_unsorted;
    DROP TABLE dossier_search; DROP TABLE dossier_unsearched; DROP TABLE dossier_views; DROP TABLE dossier_model_files; DROP INDEX dossier_sessions_used;
    ALTER TABLE dossier_actor DROP COLUMN operation; ALTER TABLE dossier_actor DROP COLUMN batch;
    ALTER TABLE dossier_users DROP COLUMN lastAddress; ALTER TABLE dossier_users DROP COLUMN attributes;
    ALTER TABLE dossier_users DROP COLUMN rightsSince;
    CREATE INDEX dossier_sessions_username ON dossier_sessions (username); PRAGMA user_version = 4`)
  older.close()
  restoreDatabase(join(folder, 'data'), copy)
  t.ok(existsSync(kept), 'even that is kept')
  rmSync(join(folder, 'data', 'dossier.db'))
  mkdirSync(join(folder, 'data', 'dossier.db'))
  t.throws(() => restoreDatabase(join(folder, 'data'), copy), { code: 'SQLITE_CANTOPEN' })
})

t.test('backups by themselves: so many are kept, and never is the only good one removed', async (t) => {
  const folder = emptyFolder(t)
  const storage = await testStorage(t, folder)
  const { lines, stream } = logSink()
  const config = configOf(folder, { BACKUP_KEEP: '2', LOG_LEVEL: 'info' })
  const log = createLogger(config, false, stream)
  const parts = { log, onError: (task: string, error: unknown) => log.warn(error, `failed: ${task}`) }
  const often = { ...config, BACKUP_EVERY_HOURS: 0.000001 }
  for (let i = 0; i < 4; i++) {
    await backupIfDue(storage, often, log)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  const names = () => readdirSync(join(folder, 'data', 'backups')).filter((name) => name.endsWith('.db'))
  t.equal(names().length, 2)
  const made = lines.length
  await backupIfDue(storage, { ...config, BACKUP_EVERY_HOURS: 8760 }, log)
  t.equal(lines.length, made, 'not due')
  const broken = { ...config, DATA_DIR: join(folder, 'nowhere') }
  mkdirSync(broken.DATA_DIR)
  writeFileSync(join(broken.DATA_DIR, 'backups'), 'a file in the way')
  const stopBroken = scheduleBackups(storage, broken, parts, 1)
  for (const end = Date.now() + 60_000; lines.length === made && Date.now() < end; )
    await new Promise((resolve) => setTimeout(resolve, 5))
  stopBroken()
  t.match(lines[made], /failed: backup/)
  t.equal(names().length, 2)
  scheduleBackups(storage, config, parts)()
  scheduleBackups(storage, { ...config, BACKUP_EVERY_HOURS: 0 }, parts)()
  const stop = scheduleBackups(storage, often, parts, 1)
  const before = lines.length
  for (const end = Date.now() + 60_000; lines.length < before + 3 && Date.now() < end; )
    await new Promise((resolve) => setTimeout(resolve, 20))
  stop()
  t.ok(lines.length >= before + 3)
  t.notMatch(lines.slice(before).join(''), /failed/)
  // The last one may still be at it.
  await new Promise((resolve) => setTimeout(resolve, 300))
})

t.test('a database that cannot be used stops the start with a sentence that says what to do', async (t) => {
  const folder = emptyFolder(t)
  const file = join(folder, 'dossier.db')
  writeFileSync(file, 'this is no database '.repeat(300))
  await t.rejects(() => openStorage(folder), /is damaged .* Restore a backup: npm run restore/)
  rmSync(file)
  const newer = new Sqlite(file)
  newer.pragma('user_version = 99')
  newer.close()
  await t.rejects(() => openStorage(folder), /written by a newer version of Dossier/)
  rmSync(file)
  mkdirSync(file)
  await t.rejects(() => openStorage(folder), /cannot be opened for writing .*DATA_DIR/)
  await t.rejects(() => openStorage('/dev/null/x'), /cannot be opened for writing/)
  await t.rejects(() => openStorage('\0'), { code: 'ERR_INVALID_ARG_VALUE' })
})

t.test('a bar on a terminal', async (t) => {
  const output = Object.assign(new PassThrough(), { isTTY: true })
  const draw = progressBar(output)
  draw?.({ done: 5, of: 10 })
  draw?.({ done: 10, of: 10 })
  t.equal(output.read().toString(), `\r[${'#'.repeat(15)}${'.'.repeat(15)}] 50 %\r[${'#'.repeat(30)}] 100 %\n`)
  t.equal(progressBar(new PassThrough()), undefined)
})

t.test('after a restore nothing that was given since the backup is given again', async (t) => {
  const folder = makeFolder(t, {
    'contacts.Contact.json': CONTACT,
    'a.Plain.json': { type: 'object', history: false, properties: { text: { type: 'string' } } },
    'a.Other.json': { type: 'object', properties: { text: { type: 'string' } } },
  })
  const run = runner(folder)
  const [plain, contact] = ['/ws/rest/a.Plain', CONTACTS]
  const first = await startApp(t, { folder })
  const before = await first.login()
  for (const firstName of ['same', 'changed', 'deleted', 'gone', 'back'])
    for (const path of [contact, plain]) await before.put(path, path === contact ? { firstName } : { text: firstName })
  await before.post(`${contact}/2`, { version: 0, lastName: 'first' })
  await before.delete(`${contact}/5`)
  const copy = (await run('backup')).out.trim()
  // What is lost: ids, versions, and numbers of changes that clients know.
  const lost = new Map<string, number[]>()
  const know = (path: string, record: { id: number; version: number }) =>
    lost.set(`${path}/${record.id}`, [...(lost.get(`${path}/${record.id}`) ?? []), record.version])
  for (const path of [contact, plain]) {
    const field = path === contact ? 'lastName' : 'text'
    for (let nth = 0; nth < 3; nth++) {
      const { version } = (await before.get(`${path}/2`)).body.data[0]
      know(path, (await before.post(`${path}/2`, { version, [field]: `lost ${nth}` })).body.data[0])
    }
    know(path, (await before.post(`${path}/3`, { version: 0, [field]: 'lost' })).body.data[0])
    for (const id of [3, 4]) await before.delete(`${path}/${id}`)
    for (let nth = 0; nth < 3; nth++)
      know(path, (await before.put(path, path === contact ? { firstName: 'lost' } : { text: 'lost' })).body.data[0])
  }
  know(contact, (await before.post(`${contact}/5/restore`, {})).body.data[0])
  const found = (await before.get(contact)).headers.get('etag') as string
  await first.close()

  /** Nothing that was known of what is lost fits what is there, now or later. */
  const holds = async (t: Test, app: Running) => {
    const client = await app.login()
    t.match((await client.get(`${contact}/2?version=0`)).body.data, [{ firstName: 'changed', lastName: null }])
    t.match((await client.get(`${contact}/2?version=1`)).body.data, [{ lastName: 'first' }], 'the past is there')
    t.match((await client.get(`${contact}/2`)).body.data, [{ firstName: 'changed', lastName: 'first' }])
    // The newest change has a higher number than the one that the tag tells, and it is of another model.
    await client.put('/ws/rest/a.Other', { text: 'new' })
    t.equal((await client.send('GET', contact, undefined, { 'if-none-match': found })).status, 200, 'other records')
    for (let round = 0; round < 4; round++) {
      for (const [address, versions] of lost)
        for (const version of versions) {
          const field = address.startsWith(contact) ? 'lastName' : 'text'
          const late = await client.post(address, { version, [field]: 'late' })
          t.ok([404, 409].includes(late.status), `${address} version ${version}: ${late.status}`)
          const tag = { 'if-none-match': `"${version}"` }
          t.not((await client.send('GET', address, undefined, tag)).status, 304)
        }
      for (const path of [contact, plain]) {
        const field = path === contact ? 'lastName' : 'text'
        for (const id of [2, 3]) {
          const { version } = (await client.get(`${path}/${id}`)).body.data[0]
          t.equal((await client.post(`${path}/${id}`, { version, [field]: `new ${round}` })).status, 200)
        }
        const made = await client.put(path, path === contact ? { firstName: 'new' } : { text: 'new' })
        t.notOk(lost.has(`${path}/${made.body.data[0].id}`), 'another id')
      }
      if (round === 0) t.equal((await client.post(`${contact}/5/restore`, {})).status, 200)
    }
    const { body } = await client.get(`${contact}/2/history?limit=500`)
    const versions = body.data.map(({ version }: { version: number }) => version)
    for (const version of versions)
      t.equal((await client.get(`${contact}/2?version=${version}`)).status, 200, `version ${version} is kept`)
  }

  await t.test('where what is replaced is there to look at', async (t) => {
    t.match(await run('restore', [copy]), { code: 0 })
    const app = await startApp(t, { folder })
    const client = await app.login()
    t.match((await client.get(`${contact}/1`)).body.data, [{ version: 0 }], 'what nobody has changed stays as it was')
    await holds(t, app)
    await app.close()
  })

  await t.test('and where it is not', async (t) => {
    const elsewhere = makeFolder(t, {
      'contacts.Contact.json': CONTACT,
      'a.Plain.json': { type: 'object', history: false, properties: { text: { type: 'string' } } },
      'a.Other.json': { type: 'object', properties: { text: { type: 'string' } } },
    })
    t.match(await runner(elsewhere)('restore', [copy, '--create']), { code: 0 })
    const app = await startApp(t, { folder: elsewhere })
    await holds(t, app)
    await app.close()
  })

  await t.test('a copy of a later version is refused', async (t) => {
    const newer = join(folder, 'newer.db')
    copyFileSync(copy, newer)
    const database = new Sqlite(newer)
    database.pragma('user_version = 999')
    database.close()
    t.match(await run('restore', [newer]), { code: 1, err: /newer version of Dossier/ })
  })
})

t.test('what root makes belongs to whom the data folder belongs', async (t) => {
  const folder = emptyFolder(t)
  const owned = join(folder, 'owned')
  makePrivateFolder(join(owned, 'a', 'b'))
  t.ok(existsSync(join(owned, 'a', 'b')))
  const { uid } = statSync(owned)
  writeFileSync(join(owned, 'file'), '')
  giveToOwner(join(owned, 'file'), 0)
  giveToOwner(join(owned, 'nowhere'), 4711)
  t.equal(statSync(join(owned, 'file')).uid, uid)
  if (process.getuid?.() !== 0) return
  const data = join(folder, 'data')
  await (await testStorage(t, folder)).close()
  for (const name of ['.', 'dossier.db']) chownSync(join(data, name), 4711, 4712)
  const copy = (await runner(folder)('backup')).out.trim()
  t.match(statSync(copy), { uid: 4711, gid: 4712 })
  t.match(statSync(join(data, 'backups')), { uid: 4711, gid: 4712 })
  t.match(await runner(folder)('restore', [copy]), { code: 0 })
  t.match(statSync(join(data, 'dossier.db')), { uid: 4711, gid: 4712 })
})

t.test('copies from the future say nothing about the last day', async (t) => {
  const folder = emptyFolder(t)
  const storage = await testStorage(t, folder)
  const config = configOf(folder, { BACKUP_EVERY_HOURS: '24' })
  const told: string[] = []
  const log = { info: () => void told.push('made') }
  await backupIfDue(storage, config, log)
  t.strictSame(told, ['made'])
  const backups = join(folder, 'data', 'backups')
  const [name = ''] = readdirSync(backups)
  const later = join(backups, 'automatic-2999-01-01T00-00-00.000Z.db')
  renameSync(join(backups, name), later)
  utimesSync(later, new Date('2999-01-01'), new Date('2999-01-01'))
  await backupIfDue(storage, config, log)
  t.strictSame(told, ['made', 'made'], 'it is due')
  await backupIfDue(storage, config, log)
  t.strictSame(told, ['made', 'made'], 'once')
})
