import { sql } from 'kysely'
import type { Database, Row } from '../storage/storage.ts'
import { type ChangeRow, currentName, readRenames } from './entry.ts'

/** A field that has become a secret, and how far its values have been removed from the journal. */
export interface Secret {
  model: string
  field: string
  /** the last change made before the field was a secret */
  upTo: number
  /** the last change that has been scrubbed */
  done: number
}

/** Limits of one transaction: number of changes, and time, because some changes are large. */
const CHANGES_PER_PORTION = 2000
const PORTION_MS = 20

/** The job that removes the values of one secret from some changes. Returns the last change that it has scrubbed. */
export async function scrubSecret(db: Database, { model, field, upTo, done }: Secret): Promise<number> {
  const start = performance.now()
  const renames = await readRenames(db, model)
  const until = Math.min(upTo, done + CHANGES_PER_PORTION)
  const { rows } = await sql<{ change: number }>`
    SELECT change FROM dossier_changes
    WHERE change > ${done} AND change <= ${until} AND model || '' = ${model} ORDER BY change`.execute(db)
  let last = until
  for (const { change } of rows) {
    await scrubChange(db, change, (name) => currentName(name, change, renames) === field)
    if (performance.now() - start < PORTION_MS) continue
    last = change
    break
  }
  await sql`UPDATE dossier_secrets SET done = ${last} WHERE model = ${model} AND field = ${field}`.execute(db)
  return last
}

async function scrubChange(db: Database, change: number, isSecret: (name: string) => boolean): Promise<void> {
  const { rows } = await sql<ChangeRow>`
    SELECT fields, was, became, whole FROM dossier_changes WHERE change = ${change}`.execute(db)
  const cleaned = removeSecret(rows[0] as ChangeRow, isSecret)
  if (!cleaned) return
  const { fields, was, became, whole } = cleaned
  await sql`
    UPDATE dossier_changes SET fields = ${fields}, was = ${was}, became = ${became}, whole = ${whole}
    WHERE change = ${change}`.execute(db)
}

/** A row without the secret's values, only with its name; undefined if the row does not contain the field. */
function removeSecret({ fields, was, became, whole }: ChangeRow, isSecret: (name: string) => boolean) {
  const names = JSON.parse(fields) as (string | [string])[]
  const record = whole ? (JSON.parse(whole) as Row) : {}
  const place = names.filter((name) => typeof name === 'string').findIndex(isSecret)
  const key = Object.keys(record).find(isSecret)
  if (place < 0 && key === undefined) return undefined
  const removeValue = (text: string | null) =>
    text === null || place < 0 ? text : JSON.stringify((JSON.parse(text) as unknown[]).toSpliced(place, 1))
  const { [key ?? '']: _, ...others } = record
  return {
    fields: JSON.stringify(names.map((name) => (typeof name === 'string' && isSecret(name) ? [name] : name))),
    was: removeValue(was),
    became: removeValue(became),
    whole: whole ? JSON.stringify(others) : null,
  }
}
