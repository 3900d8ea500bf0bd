import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { say, table } from './report.ts'
import { startDossier, stop } from './servers.ts'
import { timeOf } from './sizes.ts'

const RECORDS = 30_000
const FEW = 30_000
const MANY = 10_000_000

/** What history and feed cost with some thousand changes in the journal, and with ten million. */
export async function compareHistories(folder: string): Promise<void> {
  say(`\nfilling a journal with ${MANY} changes …`)
  const few = await startWith(join(folder, 'few-changes'), FEW)
  const many = await startWith(join(folder, 'many-changes'), MANY)
  const version = MANY / RECORDS
  const record = '/ws/rest/contacts.Contact/777'
  const paths: [string, string, string][] = [
    ['the history of a record', `${record}/history?limit=1`, `${record}/history?limit=1`],
    ['a version of it', `${record}?version=0`, `${record}?version=${Math.floor(version / 2)}`],
    ['a page of the feed', `/ws/changes?since=${FEW / 2}`, `/ws/changes?since=${MANY / 2}`],
  ]
  const rows: string[][] = []
  for (const [what, first, second] of paths) {
    const [a, b] = [await timeOf(many, second), await timeOf(few, first)]
    rows.push([what, b.toFixed(2), a.toFixed(2), (a / b).toFixed(1)])
  }
  table('Flat: milliseconds per request', ['', `${FEW} changes`, `${MANY} changes`, 'ratio'], rows)
  for (const server of [few, many]) await stop(server)
}

/** Records that have been changed in turn, so many times in all. */
async function startWith(folder: string, changes: number) {
  const server = await startDossier(folder, RECORDS)
  await stop(server)
  const database = new Sqlite(join(folder, 'data', 'dossier.db'))
  database.pragma('synchronous = off')
  database.pragma('cache_size = -500000')
  const { sql: index } = database
    .prepare(`SELECT sql FROM sqlite_schema WHERE name = 'dossier_changes_record'`)
    .get() as {
    sql: string
  }
  database.exec(`DELETE FROM dossier_changes; DELETE FROM sqlite_sequence WHERE name = 'dossier_changes'`)
  database.exec('DROP INDEX dossier_changes_record')
  database
    .prepare(
      `WITH RECURSIVE n(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n < ? - 1)
       INSERT INTO dossier_changes (model, id, version, operation, "by", at, createdBy, fields, was, became, whole)
       SELECT 'contacts.Contact', 1 + n % ${RECORDS}, 1 + n / ${RECORDS}, 'update', 'admin', '2026-01-01T00:00:00.000Z',
         'admin', '["lastName"]', '["L' || (n / ${RECORDS}) || '"]', '["L' || (1 + n / ${RECORDS}) || '"]',
         iif((1 + n / ${RECORDS}) % 64 = 0, '{"firstName":"First","lastName":"L' || (1 + n / ${RECORDS}) || '"}', NULL) FROM n`,
    )
    .run(changes)
  database.exec(index)
  // What is as it should be is not written down once more.
  const triggers = database
    .prepare(`SELECT name, sql FROM sqlite_schema WHERE name LIKE '%\\_\\_update\\_\\_journal' ESCAPE '\\'`)
    .all()
  for (const { name } of triggers as { name: string }[]) database.exec(`DROP TRIGGER ${name}`)
  database.exec(
    `UPDATE contacts__Contact SET version = (SELECT max(version) FROM dossier_changes WHERE model = 'contacts.Contact' AND id = contacts__Contact.id)`,
  )
  for (const { sql } of triggers as { sql: string }[]) database.exec(sql)
  database.close()
  return startDossier(folder, 0)
}
