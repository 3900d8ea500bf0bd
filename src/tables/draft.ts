import { CompiledQuery, type RawBuilder, sql } from 'kysely'
import { type Model, tableOf } from '../model/model.ts'
import { type Database, Refused, StorageFault } from '../storage/storage.ts'
import { encode } from './columns.ts'
import { convert } from './convert.ts'
import { createIndex, createTable, type Index, indexesOf, isCalled, literal, quote, twinOf } from './ddl.ts'
import type { TablePlan } from './plan.ts'
import type { Rebuild, Source } from './plan-rebuild.ts'
import type { TableState } from './state.ts'
import { cannotConvert, storedRows } from './verify.ts'
import { draftName, readDrafts, unwatch, watch } from './watched.ts'

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

const run = (db: Database, text: string) => db.executeQuery(CompiledQuery.raw(text))

/** What a plan's draft is made from; undefined if its table can stay. */
export function draftOf({ model, steps }: TablePlan, token: string, last: number): Draft | undefined {
  const rebuild = steps.find((step) => step.kind === 'rebuild')?.rebuild
  if (!rebuild) return undefined
  const renames = steps.flatMap((step) => (step.kind === 'rename' ? [[step.to, step.from] as const] : []))
  return { model, token, rebuild, renames: Object.fromEntries(renames), last }
}

/** Whether two drafts are made in the same way: the table may have been changed by hand since. */
export function isSameDraft(one: Draft, other: Draft): boolean {
  const key = ({ model, rebuild, renames }: Draft) => JSON.stringify([model.hash, rebuild, renames])
  return key(one) === key(other)
}

/** Makes an empty draft, and marks from now on what is changed. */
export async function beginDraft(db: Database, { model, token, rebuild }: Draft, table: TableState): Promise<void> {
  await run(db, createTable(model, draftName(model), rebuild.hidden))
  // From the start, for an index over a full table is made in one go; and under a name that is free.
  const freeName = (index: Index) => (table.indexes.some(({ name }) => name === index.name) ? twinOf(index) : index)
  for (const index of indexesOf(model)) await run(db, createIndex(freeName(index), model, draftName(model)))
  await watch(db, model)
  await sql`
    INSERT INTO dossier_drafts (tbl, token, filled, touched)
    VALUES (${tableOf(model)}, ${token}, ${Number.MIN_SAFE_INTEGER}, ${Date.now()})`.execute(db)
}

/** Whether somebody else is making tables anew. */
export async function othersAreAtIt(db: Database): Promise<boolean> {
  const since = Date.now() - ABANDONED_MS
  const { rows } = await sql`SELECT 1 FROM dossier_drafts WHERE touched > ${since} LIMIT 1`.execute(db)
  return rows.length > 0
}

/** Brings a draft up to date, and some records further. */
export async function fillDraft(db: Database, draft: Draft, rows: number): Promise<Filled> {
  const table = tableOf(draft.model)
  const into = sql.table(draftName(draft.model))
  const filled = await filledSoFar(db, draft)
  // All that is marked goes first: what a record gives up, another one may have by now.
  const isMarked = sql`"id" IN (SELECT id FROM dossier_marks WHERE tbl = ${table})`
  await sql`DELETE FROM ${into} WHERE ${isMarked}`.execute(db)
  await copy(db, draft, sql`${isMarked} AND "id" <= ${filled}`)
  await sql`DELETE FROM dossier_marks WHERE tbl = ${table}`.execute(db)
  const { rows: found } = await sql<{ last: number | null; count: number }>`
    SELECT max("id") AS last, count(*) AS count FROM (
      SELECT "id" FROM ${sql.table(table)} WHERE "id" > ${filled} ORDER BY "id" LIMIT ${rows})`.execute(db)
  const { last, count } = found[0] as { last: number | null; count: number }
  const to = last ?? filled
  await copy(db, draft, sql`"id" > ${filled} AND "id" <= ${to}`)
  await sql`UPDATE dossier_drafts SET filled = ${to}, touched = ${Date.now()} WHERE tbl = ${table}`.execute(db)
  return { to, isFull: count < rows }
}

export interface Filled {
  /** the last id that it has */
  to: number
  /** there were not as many left as it should take: what comes after belongs to the last step */
  isFull: boolean
}

async function filledSoFar(db: Database, { model, token }: Draft): Promise<number> {
  const { rows } = await sql<{ filled: number }>`
    SELECT filled FROM dossier_drafts WHERE tbl = ${tableOf(model)} AND token = ${token}`.execute(db)
  if (!rows[0]) throw startOver('Another process has begun to make the same tables anew.')
  return rows[0].filled
}

/** Whoever migrates begins again. */
export const startOver = (message: string) => new StorageFault('busy', message)

/** Takes over the records that a condition selects, with what has to be converted. */
async function copy(db: Database, { model, rebuild, renames }: Draft, condition: RawBuilder<unknown>): Promise<void> {
  const nameNow = (name: string) => renames[name] ?? name
  const plain = rebuild.sources.filter(({ from }) => from === undefined)
  const hidden = rebuild.hidden.map((column) => quote(column.name))
  const into = [quote('id'), quote('version'), ...plain.map(({ field }) => quote(field.name)), ...hidden]
  // What is not set stays so; only a field that is new starts with its default.
  const values = plain.map(({ field, column }) =>
    column === undefined ? literal(encode(field, field.default)) : quote(nameNow(column)),
  )
  const from = [quote('id'), quote('version'), ...values, ...hidden]
  await sql`
    INSERT INTO ${sql.table(draftName(model))} (${sql.raw(into.join(', '))})
    SELECT ${sql.raw(from.join(', '))} FROM ${sql.table(tableOf(model))} WHERE ${condition}`.execute(db)
  for (const source of rebuild.sources)
    if (source.from !== undefined) await convertColumn(db, model, source, nameNow(source.column as string), condition)
}

/** A statement for a thousand records at a time: one for each would take twenty times as long. */
async function convertColumn(
  db: Database,
  model: Model,
  { field, from = '' }: Source,
  column: string,
  condition: RawBuilder<unknown>,
): Promise<void> {
  const draft = quote(draftName(model))
  const update = `
    UPDATE ${draft} SET ${quote(field.name)} = pair.value ->> 1
    FROM json_each(?) AS pair WHERE ${draft}."id" = pair.value ->> 0`
  for await (const rows of storedRows(db, tableOf(model), [column], condition)) {
    const set = rows.filter((row) => row[column] !== null)
    const pairs = set.map(({ id, [column]: value }) => [id, convert(value as string | number, from, field)])
    const lost = pairs.filter(([, value]) => value === undefined).map(([id]) => id as number)
    if (lost.length > 0) throw new Refused([`${model.name}: ${cannotConvert(field, lost)}`])
    await db.executeQuery(CompiledQuery.raw(update, [JSON.stringify(pairs)]))
  }
}

/**
 * Puts the draft in the table's place. It has to happen with foreign keys off, or dropping the old table would delete what
 * refers to it; and without triggers, for they name what is about to change.
 */
export async function takePlace(db: Database, { model }: Draft, table: TableState): Promise<void> {
  const name = tableOf(model)
  const draft = draftName(model)
  const { rows: counts } = await sql<{ isSame: number }>`
    SELECT (SELECT count(*) FROM ${sql.table(name)}) = (SELECT count(*) FROM ${sql.table(draft)}) AS isSame`.execute(db)
  // REPLACE in a shell deletes what is in its way, and no trigger hears of it.
  if (counts[0]?.isSame !== 1) throw startOver('The table was changed in a way that no trigger hears of.')
  const { rows } = await sql<{ seq: number }>`SELECT seq FROM sqlite_sequence WHERE name = ${name}`.execute(db)
  await run(db, `DROP TABLE ${quote(name)}`)
  await run(db, `ALTER TABLE ${quote(draft)} RENAME TO ${quote(name)}`)
  // The highest id ever given away: none is used again, even if its record is gone.
  await sql`DELETE FROM sqlite_sequence WHERE name = ${name}`.execute(db)
  await sql`INSERT INTO sqlite_sequence (name, seq) VALUES (${name}, ${rows[0]?.seq ?? 0})`.execute(db)
  // Those that somebody made by hand went with the old table.
  const ours = indexesOf(model)
  for (const index of table.indexes)
    if (!index.name.startsWith(`${name}__`) && !ours.some((own) => isCalled(own, index.name))) await run(db, index.sql)
}

/** Clears away every draft, its marks and what marks them. */
export async function discardDrafts(db: Database): Promise<void> {
  await unwatch(db)
  for (const name of await readDrafts(db)) await run(db, `DROP TABLE ${quote(name)}`)
  await sql`DELETE FROM dossier_drafts`.execute(db)
  await sql`DELETE FROM dossier_marks`.execute(db)
}
