import { sql } from 'kysely'
import { type Model, tableName } from '../../model/model.ts'
import {
  type Database,
  DRAFT_PREFIX,
  literal,
  Refused,
  type Row,
  type ShadowCopyDialect,
  StorageFault,
  type TableState,
} from '../../storage/storage.ts'
import { columnType, encode } from '../columns.ts'
import { convert } from '../convert.ts'
import { createIndex, createTable, type Index, modelIndexes, quote, withAlternateName } from '../ddl.ts'
import { execute } from '../execute.ts'
import type { TablePlan } from '../plan.ts'
import type { Rebuild, Source } from '../plan-rebuild.ts'
import { cannotConvert, type Selection, storedRows } from '../verify.ts'
import { createMarkTriggers, draftName, dropMarkTriggers } from './change-marks.ts'
import { createAgain } from './made-by-hand.ts'
import { placeholderParent } from './parent-names.ts'

/**
 * A table that is to replace a served one, because ALTER TABLE cannot change a column. It is filled in portions while
 * the old table is served. Triggers mark the records that change meanwhile, also by hand in a shell: after each
 * portion, the draft equals the table up to some id.
 */
export interface Draft {
  model: Model
  /** identifies the migration that owns it: another process may have taken over */
  token: string
  rebuild: Rebuild
  /** current column names, by new name */
  renames: Record<string, string>
  /** highest id at the start, to compute the progress */
  last: number
}

/** A draft that was not touched for longer than this was left behind by a process that died. */
const ABANDONED_MS = 2000

/** Describes the draft of a plan; undefined if the table need not be rebuilt. */
export function createDraft({ model, steps }: TablePlan, token: string, last: number): Draft | undefined {
  const rebuild = steps.find((step) => step.kind === 'rebuild')?.rebuild
  if (!rebuild) return undefined
  const renames = steps.flatMap((step) => (step.kind === 'rename' ? [[step.to, step.from] as const] : []))
  return { model, token, rebuild, renames: Object.fromEntries(renames), last }
}

/** Whether two drafts are built in the same way. They differ if the table was changed by hand in between. */
export function isSameDraft(one: Draft, other: Draft): boolean {
  const key = ({ model, rebuild, renames }: Draft) => JSON.stringify([model.name, model.hash, rebuild, renames])
  return key(one) === key(other)
}

/** Creates an empty draft, and triggers that mark changed records from now on. */
export async function beginDraft(db: Database, { model, token, rebuild }: Draft, table: TableState): Promise<void> {
  await execute(db, createTable(model, db.dialect.tables, draftName(model), rebuild.hidden, placeholderParent))
  // Indexes are created now, because an index on the full table could not be built in portions. If the old table's
  // index has the name, the draft's index gets another one.
  const freeName = (index: Index) =>
    table.indexes.some(({ name }) => name === index.name) ? withAlternateName(index) : index
  for (const index of modelIndexes(model)) {
    await execute(db, createIndex(freeName(index), model, db.dialect.tables, draftName(model)))
  }
  await createMarkTriggers(db, model)
  await sql`
    INSERT INTO dossier_drafts (tbl, token, filled, touched)
    VALUES (${tableName(model)}, ${token}, ${Number.MIN_SAFE_INTEGER}, ${Date.now()})`.execute(db)
}

/** Whether another process is filling drafts. A time in the future does not count: the clock was set back. */
export async function isAnotherProcessCopying(db: Database): Promise<boolean> {
  const now = Date.now()
  const { rows } = await sql`
    SELECT 1 FROM dossier_drafts WHERE touched BETWEEN ${now - ABANDONED_MS} AND ${now + ABANDONED_MS} LIMIT 1`.execute(
    db,
  )
  return rows.length > 0
}

/** Copies the marked records again, then up to `rows` more. */
export async function fillDraft(db: Database, draft: Draft, rows: number): Promise<FillResult> {
  const table = tableName(draft.model)
  const into = sql.table(draftName(draft.model))
  const filled = await filledSoFar(db, draft)
  // All marked records are deleted before any is copied: a unique value may have moved from one record to another.
  const isMarked = sql`"id" IN (SELECT id FROM dossier_marks WHERE tbl = ${table})`
  await sql`DELETE FROM ${into} WHERE ${isMarked}`.execute(db)
  await copy(db, draft, { after: Number.MIN_SAFE_INTEGER, condition: sql`${isMarked} AND "id" <= ${filled}` })
  await sql`DELETE FROM dossier_marks WHERE tbl = ${table}`.execute(db)
  const { rows: found } = await sql<{ last: number | null; count: number }>`
    SELECT max("id") AS last, count(*) AS count FROM (
      SELECT "id" FROM ${sql.table(table)} WHERE "id" > ${filled} ORDER BY "id" LIMIT ${rows})`.execute(db)
  const { last, count } = found[0] as { last: number | null; count: number }
  const to = last ?? filled
  await copy(db, draft, { after: filled, condition: sql`"id" <= ${to}` })
  await sql`UPDATE dossier_drafts SET filled = ${to}, touched = ${Date.now()} WHERE tbl = ${table}`.execute(db)
  return { to, isFull: count < rows }
}

export interface FillResult {
  /** the draft equals the table up to this id */
  to: number
  /** fewer than `rows` records were left; later ones are copied in the last step */
  isFull: boolean
}

async function filledSoFar(db: Database, { model, token }: Draft): Promise<number> {
  const { rows } = await sql<{ filled: number }>`
    SELECT filled FROM dossier_drafts WHERE tbl = ${tableName(model)} AND token = ${token}`.execute(db)
  if (!rows[0]) throw draftOutdated('Another process has begun to make the same tables anew.')
  return rows[0].filled
}

/** Fault on which `migrate` starts again. */
export const draftOutdated = (message: string) => new StorageFault('stale', message)

/** Copies the selected records, and converts values where types have changed. */
async function copy(db: Database, { model, rebuild, renames }: Draft, selection: Selection): Promise<void> {
  const nameNow = ({ column = '' }: Source) => renames[column] ?? column
  const plain = rebuild.sources.filter(({ from }) => from === undefined)
  const converted = rebuild.sources.filter(({ from }) => from !== undefined)
  // Null stays null; only a new field starts with its default.
  const values = plain.map((source) =>
    source.column === undefined ? literal(encode(source.field, source.field.default)) : `old.${quote(nameNow(source))}`,
  )
  const kept = ['id', 'version', ...rebuild.hidden.map(({ name }) => name)].map(quote)
  const into = [...kept, ...[...plain, ...converted].map(({ field }) => quote(field.name))]
  const from = [...kept.map((name) => `old.${name}`), ...values]
  const insert = `INSERT INTO ${quote(draftName(model))} (${into.join(', ')}) SELECT ${from.join(', ')}`
  const old = `${quote(tableName(model))} AS old`
  if (converted.length === 0)
    return void (await sql`
      ${sql.raw(`${insert} FROM ${old}`)} WHERE "id" > ${selection.after} AND ${selection.condition}`.execute(db))
  // One statement inserts a thousand records; a statement per record would take twenty times as long.
  const { each, at } = db.dialect
  const value = (index: number, type: string) => at(sql`given.value`, index, type)
  const convertedValues = converted.map(({ field }, index) => value(index + 1, columnType(field)))
  const columns = converted.map(nameNow)
  for await (const rows of storedRows(db, tableName(model), columns, selection)) {
    const given = rows.map((row) => [row.id, ...convertRow(model, converted, columns, row)])
    await sql`
      ${sql.raw(insert)}, ${sql.join(convertedValues)}
      FROM ${each(JSON.stringify(given))} AS given JOIN ${sql.raw(old)} ON old."id" = ${value(0, 'INTEGER')}`.execute(
      db,
    )
  }
}

function convertRow(model: Model, sources: Source[], columns: string[], row: { id: number } & Row): unknown[] {
  return sources.map(({ field, from = '' }, index) => {
    const value = row[columns[index] as string] as string | number | null
    const converted = value === null ? null : convert(value, from, field)
    if (converted === undefined) throw new Refused([`${model.name}: ${cannotConvert(field, [row.id])}`])
    return converted
  })
}

/** Throws if the numbers of records differ: REPLACE in a shell deletes conflicting rows without firing triggers. */
export async function requireWhole(db: Database, { model }: Draft): Promise<void> {
  const [table, draft] = [sql.table(tableName(model)), sql.table(draftName(model))]
  const { rows } = await sql<{ isWhole: number }>`
    SELECT (SELECT count(*) FROM ${table}) = (SELECT count(*) FROM ${draft}) AS isWhole`.execute(db)
  if (rows[0]?.isWhole !== 1) throw draftOutdated('The table was changed in a way that no trigger hears of.')
}

/**
 * Replaces the table by its draft. Foreign keys have to be off, or dropping the old table would delete records that
 * refer to it. Triggers have to be dropped before, because they name tables and columns that change.
 */
export async function swapIn(db: Database, { model }: Draft, table: TableState): Promise<void> {
  const name = tableName(model)
  const { lastNumber, setLastNumber } = db.dialect.tables
  const { rows } = await execute(db, lastNumber(name, 'id'))
  await execute(db, `DROP TABLE ${quote(name)}`)
  await execute(db, `ALTER TABLE ${quote(draftName(model))} RENAME TO ${quote(name)}`)
  // `last` is the highest id ever assigned: no id is used again, even if its record is deleted.
  const { last } = rows[0] as { last: number }
  for (const text of setLastNumber(name, 'id', last)) await execute(db, text)
  // Indexes that an operator created were dropped with the old table.
  for (const index of table.indexes)
    if (!index.name.startsWith(`${name}__`)) await createAgain(db, { type: 'index', ...index })
}

/** Drops all drafts, their marks and the triggers that mark records. */
export async function discardDrafts(db: Database, dialect: ShadowCopyDialect): Promise<void> {
  await dropMarkTriggers(db)
  for (const name of await dialect.readTables(db, DRAFT_PREFIX)) await execute(db, `DROP TABLE ${quote(name)}`)
  await sql`DELETE FROM dossier_drafts`.execute(db)
  await sql`DELETE FROM dossier_marks`.execute(db)
}
