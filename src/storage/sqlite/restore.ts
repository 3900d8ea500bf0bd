import {
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { dataFolder } from '../../data-folder.ts'
import { backupName } from '../../lib/backup-name.ts'
import { giveToOwner, makeFolder } from '../../lib/file-owner.ts'
import { DatabaseError } from '../storage.ts'
import { checkCopy } from './backup.ts'
import { MODEL_TABLES } from './catalog.ts'
import { databaseFile, tooNew } from './connections.ts'
import { isDamage } from './faults.ts'
import { migrateSchema, SCHEMA_VERSION } from './schema.ts'

/**
 * Puts a checked copy in the place of the database. Whenever it is cut short, the database is either the old one or the
 * new one, whole: the copy is finished beside it, and takes its name in one step. Returns where the old one is kept.
 */
export function restoreDatabase(dataDir: string, copy: string): string | undefined {
  if (!existsSync(copy)) throw new DatabaseError(`${copy} does not exist.`)
  const file = databaseFile(dataDir)
  if (existsSync(file)) takeAlone(file)
  const draft = `${file}.restoring`
  try {
    makeFolder(dataDir)
    // Looked at where it will be: SQLite wants to write beside it, and where the backup is nothing may be writable.
    rmSync(draft, { force: true })
    copyFileSync(copy, draft, constants.COPYFILE_EXCL)
    // A copy takes over the mode of what it is made from.
    chmodSync(draft, 0o600)
    giveToOwner(draft)
    check(copy, draft)
    refuseNewer(copy, draft)
    goOnAfter(draft, file)
    syncFile(draft)
    const kept = existsSync(file) ? keep(dataDir, file) : undefined
    for (const ending of ['-wal', '-shm']) rmSync(file + ending, { force: true })
    renameSync(draft, file)
    syncFile(dataDir)
    return kept
  } finally {
    for (const ending of ['', '-wal', '-shm']) rmSync(draft + ending, { force: true })
  }
}

function check(copy: string, draft: string): void {
  try {
    checkCopy(draft)
  } catch (error) {
    const why = (error as Error).message.replaceAll(draft, copy)
    throw new DatabaseError(`${copy} is not a healthy copy (${why}). Nothing was changed.`)
  }
}

function refuseNewer(copy: string, draft: string): void {
  const database = new Sqlite(draft, { readonly: true })
  const layout = database.pragma('user_version', { simple: true }) as number
  database.close()
  if (layout > SCHEMA_VERSION) throw tooNew(copy)
}

function keep(dataDir: string, file: string): string {
  const kept = join(dataFolder(dataDir).backups, backupName('replaced'))
  makeFolder(dataFolder(dataDir).backups)
  linkSync(file, kept)
  return kept
}

/**
 * How far numbers go on where there is no telling which were given: the milliseconds since 1970. Nothing is counted faster
 * than that, and another restore, at another time, goes on elsewhere.
 */
const gapNow = () => Date.now()

/**
 * Numbers that were given after the copy was made are not given again: whoever comes back with one of them would meet another
 * change, another record, or another version of it. Changes and ids go on after a gap. The versions of records that were
 * changed in what is replaced are raised above all that were given there; where that cannot be told, those of all records.
 */
function goOnAfter(draft: string, file: string): void {
  const copy = new Sqlite(draft)
  try {
    migrateSchema(copy)
    const own = lastChange(copy)
    const lost = existsSync(file) ? numbersIn(file, own) : { last: 0, isLater: false }
    if (lost.isLater) copy.prepare('ATTACH DATABASE ? AS lost').run(file)
    const gap = gapNow()
    const goOn = copy.transaction(() => {
      const given = Math.max(own?.change ?? 0, lost.last, readSequence(copy, 'main', 'dossier_changes'))
      setSequence(copy, 'dossier_changes', given + (lost.isLater ? 1 : gap))
      copy.prepare('INSERT INTO dossier_restores (change, gap) VALUES (?, ?)').run(own?.change ?? 0, gap)
      for (const table of copy.prepare(MODEL_TABLES).pluck().all() as string[]) {
        const last = readSequence(copy, 'main', table)
        const isThere = lost.isLater && hasTable(copy, table)
        setSequence(copy, table, isThere ? Math.max(last, readSequence(copy, 'lost', table)) : last + gap)
        withoutTriggers(copy, table, () => raiseVersions(copy, table, isThere ? own?.change : undefined, gap))
      }
    })
    goOn.immediate()
  } finally {
    copy.close()
  }
}

/** `last` is the last change that both have; undefined where what is replaced tells nothing. */
function raiseVersions(copy: Sqlite.Database, table: string, last: number | undefined, gap: number): void {
  if (last === undefined) {
    copy.exec(`UPDATE "${table}" SET "version" = "version" + ${gap}`)
    return
  }
  const model = table.replaceAll('__', '.')
  const now = `(SELECT "version" FROM lost."${table}" AS later WHERE later."id" = "${table}"."id")`
  const noted = `(SELECT max(version) FROM lost.dossier_changes WHERE model = ? AND id = "${table}"."id" AND change > ?)`
  // What is gone without a trace may have had any version.
  copy
    .prepare(
      `UPDATE "${table}" SET "version" = coalesce(1 + max(coalesce(${now}, ${noted}), coalesce(${noted}, ${now})), "version" + ${gap})
       WHERE ${now} IS NULL OR ${now} > "version" OR ${noted} > "version"`,
    )
    .run(...Array(3).fill([model, last]).flat())
}

/** The journal's triggers would write each of them down as a change. */
function withoutTriggers(copy: Sqlite.Database, table: string, work: () => void): void {
  const triggers = copy
    .prepare(`SELECT name, sql FROM main.sqlite_schema WHERE type = 'trigger' AND tbl_name = ?`)
    .all(table) as { name: string; sql: string }[]
  for (const { name } of triggers) copy.exec(`DROP TRIGGER "${name.replaceAll('"', '""')}"`)
  work()
  for (const { sql } of triggers) copy.exec(sql)
}

const hasTable = (copy: Sqlite.Database, name: string) =>
  copy.prepare(`SELECT 1 FROM lost.sqlite_schema WHERE type = 'table' AND name = ?`).get(name) !== undefined

const readSequence = (database: Sqlite.Database, schema: 'main' | 'lost', table: string) =>
  database
    .prepare(`SELECT coalesce(max(seq), 0) FROM ${schema}.sqlite_sequence WHERE name = ?`)
    .pluck()
    .get(table) as number

function setSequence(copy: Sqlite.Database, table: string, last: number): void {
  copy.prepare('DELETE FROM main.sqlite_sequence WHERE name = ?').run(table)
  copy.prepare('INSERT INTO main.sqlite_sequence (name, seq) VALUES (?, ?)').run(table, last)
}

interface LastChange {
  change: number
  at: string
}

/** How far the database that is replaced has come, and whether it went on from where the copy was made. */
function numbersIn(file: string, own: LastChange | undefined): { last: number; isLater: boolean } {
  const database = new Sqlite(file, { readonly: true })
  const numbers = { last: 0, isLater: false }
  try {
    numbers.last = Math.max(lastChange(database)?.change ?? 0, readSequence(database, 'main', 'dossier_changes'))
    const same = database.prepare('SELECT 1 FROM dossier_changes WHERE change = ? AND at = ?').get(own?.change, own?.at)
    numbers.isLater = same !== undefined
  } catch {
    // It is damaged, or older than the history.
  }
  database.close()
  return numbers
}

const lastChange = (database: Sqlite.Database) =>
  database.prepare('SELECT change, at FROM dossier_changes ORDER BY change DESC LIMIT 1').get() as
    | LastChange
    | undefined

/** Nobody else has it open, and all that was in the write-ahead log is in the file. A damaged one is kept as it is. */
function takeAlone(file: string): void {
  let database: Sqlite.Database | undefined
  try {
    database = new Sqlite(file, { timeout: 0 })
    database.pragma('locking_mode = exclusive')
    database.exec('BEGIN EXCLUSIVE; COMMIT')
    database.pragma('wal_checkpoint(truncate)')
  } catch (error) {
    const { code = '' } = error as { code?: string }
    if (code === 'SQLITE_BUSY') throw new DatabaseError('The service is running. Stop it first.')
    if (!isDamage(code)) throw error
  } finally {
    database?.close()
  }
}

function syncFile(path: string): void {
  const handle = openSync(path, 'r')
  fsyncSync(handle)
  closeSync(handle)
}
