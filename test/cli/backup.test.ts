import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { PassThrough } from 'node:stream'
import Sqlite from 'better-sqlite3'
import t from 'tap'
import { HELP as BACKUP_HELP, backupCommand } from '../../src/cli/backup.ts'
import { progressBar } from '../../src/cli/progress.ts'
import { HELP as RESTORE_HELP, restoreCommand } from '../../src/cli/restore.ts'
import { newLogger } from '../../src/logging.ts'
import { restoreDatabase } from '../../src/storage/open.ts'
import { openStorage } from '../../src/storage/sqlite/sqlite.ts'
import { backupIfDue, scheduleBackups } from '../../src/upkeep/backups.ts'
import {
  commandRunner,
  configOf,
  emptyFolder,
  logSink,
  makeFolder,
  runScript,
  startApp,
  testStorage,
} from '../helper.ts'

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
  t.match(
    await run('backup', [join(folder, 'mine.db')]),
    { code: 1, err: /is there already/ },
    'nothing is overwritten',
  )
  await client.put(CONTACTS, { firstName: 'Bob' })

  t.match(await run('restore', [copy]), { code: 1, err: 'The service is running. Stop it first.\n' })
  t.notOk(existsSync(join(folder, 'data', 'dossier.db.restoring')), 'a refusal leaves nothing behind')
  t.equal((await client.get(CONTACTS)).body.total, 2)
  await first.close()
  const restored = await runScript('restore.ts', [copy], { DATA_DIR: join(folder, 'data') })
  t.match(restored, { code: 0, out: /is restored\. What was there is kept as .*replaced-/ })
  const second = await startApp(t, { folder })
  const again = await second.login()
  t.equal((await again.get(CONTACTS)).body.total, 1)
  await second.close()
  const kept = readdirSync(join(folder, 'data', 'backups')).find((name) => name.startsWith('replaced')) as string
  await run('restore', [join(folder, 'data', 'backups', kept)])
  const third = await startApp(t, { folder })
  t.equal((await (await third.login()).get(CONTACTS)).body.total, 2, 'what was replaced can be had back')

  t.match(await run('backup', ['a', 'b']), { code: 2, err: /Usage/ })
  t.match(await run('restore'), { code: 2, err: /Which file/ })
  t.match(await runner(emptyFolder(t))('backup'), { code: 1, err: /There is no database in/ })
  t.match(await run('restore', ['nowhere.db']), { code: 1, err: /does not exist/ })
  await third.close()
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
  const fourth = await startApp(t, { folder })
  t.equal((await (await fourth.login()).get(CONTACTS)).body.total, 2)
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
  older.exec('DROP TABLE dossier_changes; PRAGMA user_version = 4')
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
  const log = newLogger(config, false, stream)
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
  await backupIfDue(storage, broken, log)
  t.match(lines.at(-1), /the backup failed/)
  t.equal(names().length, 2)
  scheduleBackups(storage, config, log)()
  scheduleBackups(storage, { ...config, BACKUP_EVERY_HOURS: 0 }, log)()
  const stop = scheduleBackups(storage, often, log, 1)
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
