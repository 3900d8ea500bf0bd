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
import { createIndex, createTable, type Index, modelIndexes, quote, twinIndex } from '../ddl.ts'
import { execute } from '../execute.ts'
import type { TablePlan } from '../plan.ts'
import type { Rebuild, Source } from '../plan-rebuild.ts'
import { cannotConvert, type Selection, storedRows } from '../verify.ts'
import { draftName, unwatch, watch } from './change-marks.ts'
import { createAgain } from './made-by-hand.ts'
import { parentName } from './parent-names.ts'

/**
 * A table made anew. ALTER TABLE cannot change a column, so another table is filled beside the one that is served, in
 * portions, and takes its place at the end. Triggers mark what is changed meanwhile, by whomever: after each portion the
 * draft holds just what the table holds, up to some id.
 */
export interface Draft {
  model: Model
  /** whose it is: another process may have taken over */
  token: string
  rebuild: Rebuild
  /** the names that columns have now, by those that they will have */
  renames: Record<string, string>
  /** the last id there is, to tell how far it has come */
  last: number
}

/** A draft that nobody has touched for longer than this is left over from a process that died. */
const ABANDONED_MS = 2000

/** What a plan's draft is made from; undefined if its table can stay. */
export function createDraft({ model, steps }: TablePlan, token: string, last: number): Draft | undefined {
  const rebuild = steps.find((step) => step.kind === 'rebuild')?.rebuild
  if (!rebuild) return undefined
  const renames = steps.flatMap((step) => (step.kind === 'rename' ? [[step.to, step.from] as const] : []))
  return { model, token, rebuild, renames: Object.fromEntries(renames), last }
}

/** Whether two drafts are made in the same way: the table may have been changed by hand since. */
export function isSameDraft(one: Draft, other: Draft): boolean {
  const key = ({ model, rebuild, renames }: Draft) => JSON.stringify([model.name, model.hash, rebuild, renames])
  return key(one) === key(other)
}

/** Makes an empty draft, and marks from now on what is changed. */
export async function beginDraft(db: Database, { model, token, rebuild }: Draft, table: TableState): Promise<void> {
  await execute(db, createTable(model, db.dialect.tables, draftName(model), rebuild.hidden, parentName))
  // From the start, for an index over a full table is made in one go; and under a name that is free.
  const freeName = (index: Index) => (table.indexes.some(({ name }) => name === index.name) ? twinIndex(index) : index)
  for (const index of modelIndexes(model)) {
    await execute(db, createIndex(freeName(index), model, db.dialect.tables, draftName(model)))
  }
  await watch(db, model)
  await sql`
    INSERT INTO dossier_drafts (tbl, token, filled, touched)
    VALUES (${tableName(model)}, ${token}, ${Number.MIN_SAFE_INTEGER}, ${Date.now()})`.execute(db)
}

/** Whether somebody else is making tables anew. A moment that is still to come is none: the clock was set back. */
export async function isAnotherProcessCopying(db: Database): Promise<boolean> {
  const now = Date.now()
  const { rows } = await sql`
    SELECT 1 FROM dossier_drafts WHERE touched BETWEEN ${now - ABANDONED_MS} AND ${now + ABANDONED_MS} LIMIT 1`.execute(
    db,
  )
  return rows.length > 0
}

/** Brings a draft up to date, and some records further. */
export async function fillDraft(db: Database, draft: Draft, rows: number): Promise<FillResult> {
  const table = tableName(draft.model)
  const into = sql.table(draftName(draft.model))
  const filled = await filledSoFar(db, draft)
  // All that is marked goes first: what a record gives up, another one may have by now.
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
  /** the last id that it has */
  to: number
  /** there were not as many left as it should take: what comes after belongs to the last step */
  isFull: boolean
}

async function filledSoFar(db: Database, { model, token }: Draft): Promise<number> {
  const { rows } = await sql<{ filled: number }>`
    SELECT filled FROM dossier_drafts WHERE tbl = ${tableName(model)} AND token = ${token}`.execute(db)
  if (!rows[0]) throw draftOutdated('Another process has begun to make the same tables anew.')
  return rows[0].filled
}

/** Whoever migrates begins again. */
export const draftOutdated = (message: string) => new StorageFault('stale', message)

/** Takes over some records, with what has to be converted. */
async function copy(db: Database, { model, rebuild, renames }: Draft, selection: Selection): Promise<void> {
  const nameNow = ({ column = '' }: Source) => renames[column] ?? column
  const plain = rebuild.sources.filter(({ from }) => from === undefined)
  const converted = rebuild.sources.filter(({ from }) => from !== undefined)
  // What is not set stays so; only a field that is new starts with its default.
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
  // One statement inserts a thousand records: one statement each would take twenty times as long.
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

/** Throws if the draft does not have as many records: REPLACE in a shell deletes what is in its way, unheard by triggers. */
export async function requireWhole(db: Database, { model }: Draft): Promise<void> {
  const [table, draft] = [sql.table(tableName(model)), sql.table(draftName(model))]
  const { rows } = await sql<{ isWhole: number }>`
    SELECT (SELECT count(*) FROM ${table}) = (SELECT count(*) FROM ${draft}) AS isWhole`.execute(db)
  if (rows[0]?.isWhole !== 1) throw draftOutdated('The table was changed in a way that no trigger hears of.')
}

/**
 * Puts the draft in the table's place. It has to happen with foreign keys off, or dropping the old table would delete what
 * refers to it; and without triggers, for they name what is about to change.
 */
export async function swapIn(db: Database, { model }: Draft, table: TableState): Promise<void> {
  const name = tableName(model)
  const { lastNumber, setLastNumber } = db.dialect.tables
  const { rows } = await execute(db, lastNumber(name, 'id'))
  await execute(db, `DROP TABLE ${quote(name)}`)
  await execute(db, `ALTER TABLE ${quote(draftName(model))} RENAME TO ${quote(name)}`)
  // The highest id ever assigned: no id is used again, even if its record is deleted.
  const { last } = rows[0] as { last: number }
  for (const text of setLastNumber(name, 'id', last)) await execute(db, text)
  // Those that somebody made went with the old table.
  for (const index of table.indexes)
    if (!index.name.startsWith(`${name}__`)) await createAgain(db, { type: 'index', ...index })
}

/** Clears away every draft, its marks and what marks them. */
export async function discardDrafts(db: Database, dialect: ShadowCopyDialect): Promise<void> {
  await unwatch(db)
  for (const name of await dialect.readTables(db, DRAFT_PREFIX)) await execute(db, `DROP TABLE ${quote(name)}`)
  await sql`DELETE FROM dossier_drafts`.execute(db)
  await sql`DELETE FROM dossier_marks`.execute(db)
}
