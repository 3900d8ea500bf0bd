import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Sqlite from 'better-sqlite3'
import t from 'tap'
import { Client, login } from '../client.ts'
import { emptyFolder } from '../helper.ts'
import { followToTheEnd } from './followed-feed.ts'
import { audit, crashRound, kill, MODELS, makeCrashFolder, newLedger, spawnScript, startService } from './harness.ts'
import { importedAgain, sentAgain } from './repeated-requests.ts'

t.test('killed while many write: every acknowledged write is there, exactly', async (t) => {
  const folder = emptyFolder(t)
  makeCrashFolder(folder)
  const ledger = newLedger()
  for (const milliseconds of [0, 7]) t.strictSame(await crashRound(folder, ledger, 12, 60, milliseconds), [])
  t.strictSame(await followToTheEnd(folder, ledger.followed), [], 'and every one is told of, once and in order')
  t.ok(ledger.followed.told.length >= 120)
})

t.test('killed while all that is sent is sent again until it is answered: each thing is done once', async (t) => {
  const folder = emptyFolder(t)
  makeCrashFolder(folder)
  const { faults, answered } = await sentAgain(folder, 2, 8, () => 0)
  t.strictSame(faults, [])
  t.ok(answered >= 16)
})

t.test('killed while a file is taken in: it goes on where it was, and no row is there twice', async (t) => {
  const isAmid = (count: number) => count > 0 && count < 3000
  const all: number[] = []
  // On a busy machine the service may be done with the file before it is killed.
  for (let attempt = 0; attempt < 5 && !all.some(isAmid); attempt++) {
    const folder = emptyFolder(t)
    makeCrashFolder(folder)
    const { faults, stages } = await importedAgain(folder, 2, 3000, () => 0)
    t.strictSame(faults, [])
    all.push(...stages)
  }
  t.ok(all.some(isAmid), `killed after ${all.join(', ')} rows`)
})

/** Fills a folder with 5,000 items, and stops the service. */
async function filled(folder: string): Promise<void> {
  makeCrashFolder(folder)
  const { child } = await startService(folder)
  await kill(child, 'SIGTERM')
  const database = new Sqlite(join(folder, 'data', 'dossier.db'))
  const insert = database.prepare('INSERT INTO crash__Item (text, size) VALUES (?, ?)')
  database.transaction(() => {
    for (let i = 0; i < 5000; i++) insert.run(`t${i}`, String(i))
  })()
  database.close()
}

function countDrafts(database: Sqlite.Database): number {
  const tables = "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'dossier_draft__%' AND type = 'table'"
  return database.prepare(tables).pluck().get() as number
}

t.test('killed in the middle of a migration: the old state or the new one', async (t) => {
  const folder = emptyFolder(t)
  await filled(folder)
  let type = 'string'
  for (const milliseconds of [600, 750, 1100]) {
    type = type === 'string' ? 'integer' : 'string'
    const { type: object, properties } = MODELS['crash.Item.json']
    const item = { type: object, properties: { text: properties.text, size: { type } } }
    writeFileSync(join(folder, 'models', 'crash.Item.json'), JSON.stringify(item))
    const child = spawnScript(folder, 'start.js')
    await sleep(milliseconds)
    await kill(child)
    t.strictSame(audit(folder, newLedger()), [])
    const database = new Sqlite(join(folder, 'data', 'dossier.db'))
    const [stored] = database
      .prepare("SELECT type FROM pragma_table_info('crash__Item') WHERE name = 'size'")
      .pluck()
      .all() as [string]
    const kinds = database.prepare('SELECT DISTINCT typeof(size) FROM crash__Item').pluck().all()
    t.strictSame(kinds, [stored === 'TEXT' ? 'text' : 'integer'], 'all of it or nothing of it')
    t.equal(database.prepare('SELECT count(*) FROM crash__Item').pluck().get(), 5000)
    t.ok(countDrafts(database) <= 1, 'a draft that was being filled is all that may be left, until the next start')
    database.close()
  }
  const { child, url } = await startService(folder)
  const client = await login(url)
  t.match((await client.get('/ws/rest/crash.Item?limit=0')).body, { total: 5000 })
  await kill(child, 'SIGTERM')
  const database = new Sqlite(join(folder, 'data', 'dossier.db'))
  t.equal(countDrafts(database), 0, 'a start that is not killed leaves none')
  database.close()
})

t.test('killed while a backup or a restore is made: never half of one', async (t) => {
  const folder = emptyFolder(t)
  await filled(folder)
  const backups = join(folder, 'data', 'backups')
  const whole = spawnScript(folder, 'cli/backup.ts')
  await new Promise((resolve) => whole.once('exit', resolve))
  const [copy = ''] = readdirSync(backups)
  for (const milliseconds of [200, 300]) {
    const backup = spawnScript(folder, 'cli/backup.ts')
    await sleep(milliseconds)
    await kill(backup)
    const restore = spawnScript(folder, 'cli/restore.ts', [join(backups, copy)])
    await sleep(milliseconds)
    await kill(restore)
    t.strictSame(audit(folder, newLedger()), [])
    for (const name of readdirSync(backups).filter((file) => file.endsWith('.db'))) {
      const database = new Sqlite(join(backups, name), { readonly: true })
      t.equal(database.pragma('integrity_check', { simple: true }), 'ok', name)
      database.close()
    }
  }
  const { child, url } = await startService(folder)
  t.match((await (await login(url)).get('/ws/rest/crash.Item?limit=0')).body, { total: 5000 })
  await kill(child)
})

t.test('killed while it starts for the first time', async (t) => {
  for (const milliseconds of [250, 450]) {
    const folder = emptyFolder(t)
    makeCrashFolder(folder)
    const child = spawnScript(folder, 'start.js')
    await sleep(milliseconds)
    await kill(child)
    const { child: second, url } = await startService(folder)
    t.equal((await new Client(url).get('/health')).status, 200)
    await kill(second, 'SIGTERM')
    t.notOk(existsSync(join(folder, 'data', 'dossier.db-wal')), 'a stop leaves nothing in the write-ahead log')
  }
})
