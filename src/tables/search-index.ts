import { hash } from 'node:crypto'
import { sql } from 'kysely'
import { fold } from '../lib/fold.ts'
import { type Field, type Model, tableName } from '../model/model.ts'
import {
  type Database,
  defineJob,
  type Row,
  type TableDialect,
  type Trigger,
  type WordIndexDialect,
} from '../storage/storage.ts'
import { columnDefinition } from './ddl.ts'
import { execute } from './execute.ts'

/**
 * The index that proposes records for a text search. It is filled in the background, in the order of ids:
 * `dossier_search` has the id up to which it is. Triggers note the records up to there that change later, also at a
 * database shell. A search compares all that is proposed, noted, or not filled in yet.
 */

/**
 * Name of a table's index. `dossier_tables` has the index's definition under this name when it is filled. FTS5 has
 * tables of its own, such as `…__fts_data`: no model's index has one of their names.
 */
export const searchIndexName = (table: string) => `dossier_search__${table}__fts`

/** Raised when other entries are made of the same texts. */
const WORDS_VERSION = 2

/**
 * Hash that differs whenever the index would be another: by other fields, another folding, or another form of entries.
 */
export function searchDefinition(model: Model, dialect: TableDialect): string {
  const cached = definitions.get(model)
  if (cached !== undefined) return cached
  const fields = searchedFields(model).map((field) => columnDefinition(field, model, dialect))
  const definition = hash(
    'sha256',
    JSON.stringify([dialect.orderVersion, fields, ...(dialect.wordIndex ? [WORDS_VERSION] : [])]),
  ).slice(0, 16)
  definitions.set(model, definition)
  return definition
}

const definitions = new WeakMap<Model, string>()

const searchedFields = (model: Model) =>
  model.search.map((name) => model.fields.find((field) => field.name === name) as Field)

/** Triggers that note the records whose entries are missing or outdated. */
export function searchTriggers(model: Model, dialect: TableDialect): Trigger[] {
  if (!dialect.wordIndex || model.search.length === 0) return []
  const table = tableName(model)
  const note = (condition: string) =>
    `INSERT INTO dossier_unsearched (tbl, id) SELECT tbl, NEW."id" FROM dossier_search
     WHERE tbl = '${table}' AND NEW."id" <= filled AND ${condition} ON CONFLICT DO NOTHING`
  const hasChanged = ['id', ...model.search].map((name) => `NEW."${name}" IS NOT OLD."${name}"`).join(' OR ')
  const bodies = { INSERT: note('true'), UPDATE: note(`(${hasChanged})`) }
  return (['INSERT', 'UPDATE'] as const).map((event) => {
    const name = searchTrigger(table, event)
    return { name, sql: dialect.trigger({ name, when: 'AFTER', event, on: table, body: bodies[event] }) }
  })
}

const searchTrigger = (table: string, event: string) => `${table}__${event.toLowerCase()}__searched`

/** Names of the triggers that a table may have. */
export const searchTriggerNames = (table: string) => ['insert', 'update'].map((event) => searchTrigger(table, event))

/**
 * Statements that make an index unused until it is filled anew: the table's texts change in a way that fires no
 * trigger.
 */
export const dropSearchIndex = (table: string, { wordIndex }: TableDialect): string[] => [
  `DELETE FROM dossier_tables WHERE tbl = '${searchIndexName(table)}'`,
  ...(wordIndex
    ? [
        ...wordIndex.drop(searchIndexName(table)),
        `DELETE FROM dossier_search WHERE tbl = '${table}'`,
        `DELETE FROM dossier_unsearched WHERE tbl = '${table}'`,
      ]
    : []),
]

/** Drops the indexes of models that are searched in another way now: their triggers are others too. */
export async function dropChangedSearchIndexes(db: Database, models: Model[]): Promise<void> {
  const dialect = db.dialect.tables
  if (!dialect.wordIndex) return
  for (const { tbl, definition } of await db.selectFrom('dossier_search').select(['tbl', 'definition']).execute()) {
    const model = models.find((one) => tableName(one) === tbl)
    if (!model || (model.search.length > 0 && searchDefinition(model, dialect) === definition)) continue
    for (const text of dropSearchIndex(tbl as string, dialect)) await execute(db, text)
  }
}

export interface IndexInput {
  table: string
  fields: string[]
  definition: string
  /** time that others wait for a portion, about */
  ms: number
}

export const indexInput = (model: Model, dialect: TableDialect, ms: number): IndexInput => ({
  table: tableName(model),
  fields: model.search,
  definition: searchDefinition(model, dialect),
  ms,
})

/** Adds some entries to an index. Returns whether there are more to add. */
export const INDEX_PORTION = defineJob<IndexInput, boolean>(import.meta.url, 'fillSearchIndex')

/** Records that are read at a time, and characters of theirs that are added at a time: long texts take long. */
const RECORDS_PER_PORTION = 100
const MAX_CHARACTERS = 50_000

export async function fillSearchIndex(db: Database, input: IndexInput): Promise<boolean> {
  const start = performance.now()
  const { table, definition } = input
  const dialect = db.dialect.tables
  const state = await readState(db, table)
  if (state?.definition !== definition || hasTooManyOldEntries(state)) return begin(db, input)
  let hasMore = true
  while (hasMore && performance.now() - start < input.ms)
    hasMore = (await addNoted(db, input)) || (await addNext(db, input))
  if (hasMore) return true
  const { rows } = await sql`
    INSERT INTO dossier_tables (tbl, shape) VALUES (${searchIndexName(table)}, ${definition})
    ON CONFLICT (tbl) DO NOTHING RETURNING 1`.execute(db)
  if (rows.length > 0) for (const text of dialect.notifyShapes) await execute(db, text)
  return false
}

interface IndexState {
  definition: string
  /** all records up to this id have an entry, or are noted */
  filled: number
  entries: number
  /** number of records */
  live: number
}

async function readState(db: Database, table: string): Promise<IndexState | undefined> {
  const { rows } = await sql<IndexState>`
    SELECT definition, filled, entries, (SELECT sum(live) FROM dossier_counts WHERE tbl = ${table}) AS live
    FROM dossier_search WHERE tbl = ${table}`.execute(db)
  return rows[0]
}

/** Outdated entries that an index may have beside as many as there are records. */
const MAX_OLD_ENTRIES = 100_000
const hasTooManyOldEntries = ({ entries, live }: IndexState) => entries > 2 * live + MAX_OLD_ENTRIES

async function begin(db: Database, { table, definition }: IndexInput): Promise<boolean> {
  const dialect = db.dialect.tables
  for (const text of dropSearchIndex(table, dialect)) await execute(db, text)
  for (const text of (dialect.wordIndex as WordIndexDialect).create(searchIndexName(table))) await execute(db, text)
  const row = { tbl: table, definition, filled: Number.MIN_SAFE_INTEGER, entries: 0 }
  await db.insertInto('dossier_search').values(row).execute()
  for (const text of dialect.notifyShapes) await execute(db, text)
  return true
}

/** Adds entries for records that have changed. Returns whether there were any. */
async function addNoted(db: Database, input: IndexInput): Promise<boolean> {
  const { rows } = await sql<{ id: number }>`
    SELECT id FROM dossier_unsearched WHERE tbl = ${input.table} ORDER BY id LIMIT ${RECORDS_PER_PORTION}`.execute(db)
  const [first, last] = [rows[0], rows.at(-1)]
  if (!first || !last) return false
  const isNoted = (end: number) => sql`tbl = ${input.table} AND id BETWEEN ${first.id} AND ${end}`
  const noted = sql`"id" IN (SELECT id FROM dossier_unsearched WHERE ${isNoted(last.id)}) ORDER BY "id"`
  const { some, isAll } = firstOnes(await readTexts(db, input, noted), input)
  await addEntries(db, input, some)
  // Records that were deleted have no texts.
  const end = isAll ? last.id : (some.at(-1) as { id: number }).id
  await sql`DELETE FROM dossier_unsearched WHERE ${isNoted(end)}`.execute(db)
  return true
}

/** Adds entries for the next records in the order of ids. Returns whether there were any. */
async function addNext(db: Database, input: IndexInput): Promise<boolean> {
  const next = await readTexts(
    db,
    input,
    sql`"id" > (SELECT filled FROM dossier_search WHERE tbl = ${input.table}) ORDER BY "id" LIMIT ${RECORDS_PER_PORTION}`,
  )
  const { some } = firstOnes(next, input)
  const last = some.at(-1)?.id
  if (last === undefined) return false
  await addEntries(db, input, some)
  await sql`UPDATE dossier_search SET filled = ${last} WHERE tbl = ${input.table}`.execute(db)
  return true
}

/** The first rows, as many as fit; at least one. */
function firstOnes(rows: (Row & { id: number })[], { fields }: IndexInput) {
  let characters = 0
  const isFull = (row: Row) => {
    const isOver = characters > MAX_CHARACTERS
    for (const name of fields) characters += String(row[name] ?? '').length
    return isOver
  }
  const end = rows.findIndex(isFull)
  return { some: end === -1 ? rows : rows.slice(0, end), isAll: end === -1 }
}

async function readTexts(db: Database, { table, fields }: IndexInput, where: ReturnType<typeof sql>) {
  const columns = sql.join(fields.map((name) => sql.ref(name)))
  const { rows } = await sql<Row & { id: number }>`
    SELECT "id", ${columns} FROM ${sql.table(table)} WHERE ${where}`.execute(db)
  return rows
}

/**
 * Follows the text of each field. Because it has two characters, no trigram spans two fields, and even the last
 * character of a text begins a trigram.
 */
const FIELD_END = '\x1f\x1f'

async function addEntries(db: Database, { table, fields }: IndexInput, rows: (Row & { id: number })[]): Promise<void> {
  const { add } = db.dialect.tables.wordIndex as WordIndexDialect
  const entries = rows.map((row) => {
    const texts = fields.map((name) => row[name]).filter((value) => value !== null)
    return [row.id, texts.map((value) => fold(String(value)) + FIELD_END).join('')]
  })
  await execute(db, add(searchIndexName(table)), [JSON.stringify(entries)])
  await sql`UPDATE dossier_search SET entries = entries + ${rows.length} WHERE tbl = ${table}`.execute(db)
}
