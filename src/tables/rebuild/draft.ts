import { sql } from 'kysely'
import { type Field, type Model, tableName } from '../../model/model.ts'
import { type Database, DRAFT_PREFIX, Refused, type Row, StorageFault, type TableState } from '../../storage/storage.ts'
import { columnType, columnTypes, encode } from '../columns.ts'
import { convert } from '../convert.ts'
import {
  createIndex,
  createTable,
  type Index,
  modelIndexes,
  quote,
  storableLiteral,
  withAlternateName,
} from '../ddl.ts'
import { execute } from '../execute.ts'
import { createLinkTable, fillLinks } from '../links.ts'
import { fillKeys } from '../order-columns.ts'
import { planTable, type TablePlan } from '../plan.ts'
import type { Rebuild, Source } from '../plan-rebuild.ts'
import { type RowSelection, storedRows } from '../stored-rows.ts'
import { cannotConvert } from '../verify.ts'
import { createMarkTriggers, draftLinkName, draftName, dropMarkTriggers } from './change-marks.ts'
import { placeholderParent } from './parent-names.ts'

/**
 * A table that is to replace a served one: SQLite cannot change a column in place, and PostgreSQL would lock the table
 * meanwhile. It is filled in portions while the old table is served. Triggers mark the records that change meanwhile,
 * also by hand in a shell: after each portion, the draft equals the table up to some id.
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
function createDraft({ model, steps }: TablePlan, token: string, last: number): Draft | undefined {
  const rebuild = steps.find((step) => step.kind === 'rebuild')?.rebuild
  if (!rebuild) return undefined
  const renames = steps.flatMap((step) => (step.kind === 'rename' ? [[step.to, step.from] as const] : []))
  return { model, token, rebuild, renames: Object.fromEntries(renames), last }
}

/** Whether two drafts are built in the same way. They differ if the table was changed by hand in between. */
function isSameDraft(one: Draft, other: Draft): boolean {
  const key = ({ model, rebuild, renames }: Draft) => JSON.stringify([model.name, model.hash, rebuild, renames])
  return key(one) === key(other)
}

/** The draft that was made for a plan; undefined if there is none, also if the table has been changed since. */
export function findDraft(plan: TablePlan, drafts: Draft[]): Draft | undefined {
  const wanted = createDraft(plan, '', 0)
  return wanted && drafts.find((one) => isSameDraft(one, wanted))
}

/** Names of the draft's link tables, by field. */
export const draftedLink = (draft: Draft | undefined) => (field: Field) =>
  draft?.rebuild.linked.some(({ name }) => name === field.name) ? draftLinkName(draft.model, field) : undefined

/** Creates empty drafts of all tables that have to be rebuilt, except those that `isExcepted` selects. */
export async function createDraftTables(
  db: Database,
  models: Model[],
  token: string,
  isExcepted: (table: string) => Promise<boolean> = async () => false,
  isBuiltLater: (index: Index) => boolean = () => false,
): Promise<Draft[]> {
  await discardDrafts(db)
  const drafts: Draft[] = []
  for (const model of models) {
    const table = await db.dialect.tables.readTable(db, tableName(model))
    const plan = planTable(model, table, [], db.dialect.tables)
    if (!table || plan.refusals.length > 0) continue
    const { rows } = await sql<{ last: number | null }>`SELECT max("id") AS last FROM ${sql.table(table.name)}`.execute(
      db,
    )
    const draft = createDraft(plan, token, rows[0]?.last ?? 0)
    if (!draft || (await isExcepted(table.name))) continue
    await beginDraft(db, draft, table, isBuiltLater)
    drafts.push(draft)
  }
  return drafts
}

/** Creates an empty draft, and triggers that mark changed records from now on. */
async function beginDraft(
  db: Database,
  { model, token, rebuild }: Draft,
  table: TableState,
  isBuiltLater: (index: Index) => boolean,
): Promise<void> {
  for (const text of db.dialect.tables.createTypes(columnTypes(model.fields))) await execute(db, text)
  await execute(db, createTable(model, db.dialect.tables, draftName(model), rebuild.hidden, placeholderParent))
  // Indexes are created now, because an index on the full table could not be built in portions. If the old table's
  // index has the name, the draft's index gets another one.
  const freeName = (index: Index) =>
    table.indexes.some(({ name }) => name === index.name) ? withAlternateName(index) : index
  for (const field of rebuild.linked)
    await execute(db, createLinkTable(model, field, db.dialect.tables, draftLinkName(model, field), placeholderParent))
  for (const index of modelIndexes(model, db.dialect.tables))
    if (!isBuiltLater(index))
      await execute(db, createIndex(freeName(index), model, db.dialect.tables, draftName(model)))
  await createMarkTriggers(db, model)
  await sql`
    INSERT INTO dossier_drafts (tbl, token, filled, touched)
    VALUES (${tableName(model)}, ${token}, ${Number.MIN_SAFE_INTEGER}, ${Date.now()})`.execute(db)
}

/**
 * Throws if another process is filling drafts. For an engine without `runExclusively`, which refuses that earlier. A time in the future does not count: the
 * clock was set back.
 */
export async function requireNobodyCopies(db: Database): Promise<void> {
  const now = Date.now()
  const { rows } = await sql`
    SELECT 1 FROM dossier_drafts WHERE touched BETWEEN ${now - ABANDONED_MS} AND ${now + ABANDONED_MS} LIMIT 1`.execute(
    db,
  )
  if (rows.length > 0) throw new StorageFault('busy', 'Another process is rebuilding tables.')
}

/** Copies the marked records again, then up to `rows` more. */
export async function fillDraft(db: Database, draft: Draft, rows: number): Promise<FillResult> {
  const table = tableName(draft.model)
  const into = sql.table(draftName(draft.model))
  const filled = await filledSoFar(db, draft)
  // All marked records are deleted before any is copied: a unique value may have moved from one record to another.
  const isMarked = sql`"id" IN (SELECT id FROM dossier_marks WHERE tbl = ${table})`
  await sql`DELETE FROM ${into} WHERE ${isMarked}`.execute(db)
  for (const field of draft.rebuild.linked)
    await sql`
      DELETE FROM ${sql.table(draftLinkName(draft.model, field))}
      WHERE "record" IN (SELECT id FROM dossier_marks WHERE tbl = ${table})`.execute(db)
  await copySelected(db, draft, { after: Number.MIN_SAFE_INTEGER, condition: sql`${isMarked} AND "id" <= ${filled}` })
  await sql`DELETE FROM dossier_marks WHERE tbl = ${table}`.execute(db)
  const { rows: found } = await sql<{ last: number | null; count: number }>`
    SELECT max("id") AS last, count(*) AS count FROM (
      SELECT "id" FROM ${sql.table(table)} WHERE "id" > ${filled} ORDER BY "id" LIMIT ${rows}) AS next`.execute(db)
  const { last, count } = found[0] as { last: number | null; count: number }
  const to = last ?? filled
  await copySelected(db, draft, { after: filled, condition: sql`"id" <= ${to}` })
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
  if (!rows[0]) throw staleDraftFault('Another process has begun to rebuild the same tables.')
  return rows[0].filled
}

/** Fault on which `migrate` starts again. */
export const staleDraftFault = (message: string) => new StorageFault('stale', message)

/** Copies the selected records, converts values where types have changed, and fills what is derived from them. */
async function copySelected(db: Database, draft: Draft, selection: RowSelection): Promise<void> {
  if (draft.rebuild.sources.every(isPlain)) await copyPlain(db, draft, selection)
  else await copyConverted(db, draft, selection)
  await fillDerived(db, draft, selection)
}

const isPlain = ({ from }: Source) => from === undefined

/** Name that the column of a source has before the renames. */
const columnNow = ({ renames }: Draft, { column = '' }: Source) => renames[column] ?? column

/** Beginning of the statement that copies records. Converted values come last, and are not selected yet. */
function insertStart(draft: Draft): string {
  const { model, rebuild } = draft
  const plain = rebuild.sources.filter(isPlain)
  const converted = rebuild.sources.filter((source) => !isPlain(source))
  // Null stays null; only a new field starts with its default.
  const values = plain.map((source) =>
    source.column === undefined
      ? storableLiteral(source.field, encode(source.field, source.field.default))
      : `old.${quote(columnNow(draft, source))}`,
  )
  const kept = ['id', 'version', ...rebuild.hidden.map(({ name }) => name)].map(quote)
  const into = [...kept, ...[...plain, ...converted].map(({ field }) => quote(field.name))]
  const from = [...kept.map((name) => `old.${name}`), ...values]
  return `INSERT INTO ${quote(draftName(model))} (${into.join(', ')}) SELECT ${from.join(', ')}`
}

const oldTable = (model: Model) => `${quote(tableName(model))} AS old`

async function copyPlain(db: Database, draft: Draft, { after, condition }: RowSelection): Promise<void> {
  const copy = `${insertStart(draft)} FROM ${oldTable(draft.model)}`
  await sql`${sql.raw(copy)} WHERE "id" > ${after} AND ${condition}`.execute(db)
}

/** One statement inserts a thousand records; a statement per record would take twenty times as long. */
async function copyConverted(db: Database, draft: Draft, selection: RowSelection): Promise<void> {
  const { model, rebuild } = draft
  const { jsonEach, jsonItem } = db.dialect
  const insert = insertStart(draft)
  const converted = rebuild.sources.filter((source) => !isPlain(source))
  const value = (index: number, type: string) => jsonItem(sql`given.value`, index, type)
  const convertedValues = converted.map(({ field }, index) => value(index + 1, columnType(field)))
  const columns = converted.map((source) => columnNow(draft, source))
  for await (const rows of storedRows(db, tableName(model), columns, selection)) {
    const given = rows.map((row) => [row.id, ...convertRow(model, converted, columns, row)])
    await sql`
      ${sql.raw(insert)}, ${sql.join(convertedValues)}
      FROM ${jsonEach(JSON.stringify(given))} AS given
      JOIN ${sql.raw(oldTable(model))} ON old."id" = ${value(0, 'INTEGER')}`.execute(db)
  }
}

/** Fills order keys and link tables of the copied records. */
async function fillDerived(db: Database, { model, rebuild }: Draft, { after, condition }: RowSelection): Promise<void> {
  const selected = sql`"id" > ${after} AND ${condition}`
  await fillKeys(db, model, draftName(model), selected)
  for (const field of rebuild.linked)
    await fillLinks(db, field, draftLinkName(model, field), draftName(model), selected)
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
export async function requireEqualCounts(db: Database, { model }: Draft): Promise<void> {
  const [table, draft] = [sql.table(tableName(model)), sql.table(draftName(model))]
  const { rows } = await sql<{ isWhole: number }>`
    SELECT (SELECT count(*) FROM ${table}) = (SELECT count(*) FROM ${draft}) AS "isWhole"`.execute(db)
  if (rows[0]?.isWhole !== 1) throw staleDraftFault('The table was changed in a way that no trigger hears of.')
}

/** Names of the tables that are drafts, also those that a process left behind. */
export const readDrafts = (db: Database) => db.dialect.tables.rebuild.readTables(db, DRAFT_PREFIX)

/** Drops all drafts, their marks and the triggers that mark records. */
export async function discardDrafts(db: Database): Promise<void> {
  await dropMarkTriggers(db)
  for (const name of await readDrafts(db)) await execute(db, `DROP TABLE ${quote(name)}`)
  await sql`DELETE FROM dossier_drafts`.execute(db)
  await sql`DELETE FROM dossier_marks`.execute(db)
}
