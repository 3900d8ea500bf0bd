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
 * Replaces the database with a checked copy. The copy is completed beside the database and renamed in one step, so that
 * an interruption leaves either the old or the new database intact. Returns the path where the old one is kept.
 */
export function restoreDatabase(dataDir: string, copy: string): string | undefined {
  if (!existsSync(copy)) throw new DatabaseError(`${copy} does not exist.`)
  const file = databaseFile(dataDir)
  if (existsSync(file)) requireExclusiveAccess(file)
  const temporary = `${file}.restoring`
  try {
    makeFolder(dataDir)
    // The copy is checked in the data folder: SQLite writes files beside it, and the backup's folder may be read-only.
    rmSync(temporary, { force: true })
    copyFileSync(copy, temporary, constants.COPYFILE_EXCL)
    // copyFileSync copies the mode of the source as well.
    chmodSync(temporary, 0o600)
    giveToOwner(temporary)
    check(copy, temporary)
    refuseNewer(copy, temporary)
    advanceNumbers(temporary, file)
    syncFile(temporary)
    const kept = existsSync(file) ? keep(dataDir, file) : undefined
    for (const ending of ['-wal', '-shm']) rmSync(file + ending, { force: true })
    renameSync(temporary, file)
    syncFile(dataDir)
    return kept
  } finally {
    for (const ending of ['', '-wal', '-shm']) rmSync(temporary + ending, { force: true })
  }
}

function check(copy: string, temporary: string): void {
  try {
    checkCopy(temporary)
  } catch (error) {
    const why = (error as Error).message.replaceAll(temporary, copy)
    throw new DatabaseError(`${copy} is not a healthy copy (${why}). Nothing was changed.`)
  }
}

function refuseNewer(copy: string, temporary: string): void {
  const database = new Sqlite(temporary, { readonly: true })
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
 * The gap that is left where it is unknown which numbers were used: the milliseconds since 1970. No number grows faster
 * than one per millisecond, and a restore at another time leaves another gap.
 */
const gapNow = () => Date.now()

/**
 * Numbers that were used after the copy was made are not used again: a client that still knows one would get another
 * change, another record, or another version of it. Numbers of changes and ids continue after those of the replaced
 * database, or after a gap if it does not tell them. The versions of records that were changed in the replaced database
 * are raised above those that it used. If they are unknown, the versions of all records of the table get the gap.
 */
function advanceNumbers(temporary: string, file: string): void {
  const copy = new Sqlite(temporary)
  try {
    migrateSchema(copy)
    const own = lastChange(copy)
    const lost = existsSync(file) ? readLastNumbers(file, own) : { last: 0, isLater: false }
    if (lost.isLater) copy.prepare('ATTACH DATABASE ? AS lost').run(file)
    const gap = gapNow()
    const advance = copy.transaction(() => {
      const lastUsed = Math.max(own?.change ?? 0, lost.last, readSequence(copy, 'main', 'dossier_changes'))
      setSequence(copy, 'dossier_changes', lastUsed + (lost.isLater ? 1 : gap))
      copy.prepare('INSERT INTO dossier_restores (change, gap) VALUES (?, ?)').run(own?.change ?? 0, gap)
      for (const table of copy.prepare(MODEL_TABLES).pluck().all() as string[]) {
        const last = readSequence(copy, 'main', table)
        const isThere = lost.isLater && hasTable(copy, table)
        setSequence(copy, table, isThere ? Math.max(last, readSequence(copy, 'lost', table)) : last + gap)
        withoutTriggers(copy, table, () => raiseVersions(copy, table, isThere ? own?.change : undefined, gap))
      }
    })
    advance.immediate()
  } finally {
    copy.close()
  }
}

/** `last` is the last change that both databases have; undefined if the replaced one does not continue the copy. */
function raiseVersions(copy: Sqlite.Database, table: string, last: number | undefined, gap: number): void {
  if (last === undefined) {
    copy.exec(`UPDATE "${table}" SET "version" = "version" + ${gap}`)
    return
  }
  const model = table.replaceAll('__', '.')
  const now = `(SELECT "version" FROM lost."${table}" AS later WHERE later."id" = "${table}"."id")`
  const noted = `(SELECT max(version) FROM lost.dossier_changes WHERE model = ? AND id = "${table}"."id" AND change > ?)`
  // A record that the replaced database has neither in the table nor in the journal may have had any version.
  copy
    .prepare(
      `UPDATE "${table}" SET "version" = coalesce(1 + max(coalesce(${now}, ${noted}), coalesce(${noted}, ${now})), "version" + ${gap})
       WHERE ${now} IS NULL OR ${now} > "version" OR ${noted} > "version"`,
    )
    .run(...Array(3).fill([model, last]).flat())
}

/** Runs `work` without the table's triggers: the journal would record each raised version as a change. */
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

/** Last change number of the replaced database. `isLater` is true if it also has the copy's last change. */
function readLastNumbers(file: string, own: LastChange | undefined): { last: number; isLater: boolean } {
  const database = new Sqlite(file, { readonly: true })
  const numbers = { last: 0, isLater: false }
  try {
    numbers.last = Math.max(lastChange(database)?.change ?? 0, readSequence(database, 'main', 'dossier_changes'))
    const same = database.prepare('SELECT 1 FROM dossier_changes WHERE change = ? AND at = ?').get(own?.change, own?.at)
    numbers.isLater = same !== undefined
  } catch {
    // The database is damaged, or its layout is older than the journal.
  }
  database.close()
  return numbers
}

const lastChange = (database: Sqlite.Database) =>
  database.prepare('SELECT change, at FROM dossier_changes ORDER BY change DESC LIMIT 1').get() as
    | LastChange
    | undefined

/** Throws if another process uses the database, and copies the log into the file. A damaged one stays as it is. */
export function requireExclusiveAccess(file: string): void {
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
