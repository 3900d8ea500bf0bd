import { sql } from 'kysely'
import { Failure } from '../../errors.ts'
import type { Access } from '../../filters/access.ts'
import { abortCondition, comparisonKey, referringField } from '../../filters/filter-sql.ts'
import { withReach, withReachByIndex } from '../../filters/reach.ts'
import { secondsUntil } from '../../lib/deadline.ts'
import { Yielder } from '../../lib/yielder.ts'
import {
  type Field,
  fieldReference,
  findInverse,
  type Inverse,
  linkTable,
  type Model,
  type Models,
  tableName,
  visibleField,
} from '../../model/model.ts'
import { type Cursors, nameOfOrder } from '../../requests/cursor.ts'
import { DEFAULT_LIMIT, type Selection } from '../../requests/query.ts'
import { PAGE_BYTES, rowBytes } from '../../storage/size.ts'
import { isFault, type Row, type Storage } from '../../storage/storage.ts'
import { createRowDecoder } from '../../tables/columns.ts'
import { is } from '../../tables/condition.ts'
import { recordRead, requireCurrentShape, shapesWithOrderKeys } from '../../tables/shape.ts'
import type { Caller } from '../caller.ts'
import { recordBytes, rowsThatFit } from './page-size.ts'

/** The paths without a dot: references of the model itself. */
const topPaths = (paths: string[]) => paths.filter((path) => !path.includes('.'))

/** The columns to select: `fields`, by default those of the list, and the references to expand. */
export function selectedColumns(model: Model, { fields = model.list, expand: paths }: Selection) {
  const references = topPaths(paths).filter((name) => !findInverse(model, name))
  return [...new Set(['id', 'version', ...fields, ...references])]
}

/** Where the related records come from, the user who must be allowed to read them, and when to end. */
export interface Expansion {
  storage: Storage
  models: Models
  access: Access
  cursors: Cursors
  user: Caller
  /** as `performance.now()` */
  deadline: number
}

/** The records that refer to a record: their number, the first of them, and a cursor to find the others by. */
export interface RelatedRecords {
  total: number
  data: Row[]
  next?: string
}

/** Shared by all statements of one expansion: the bytes left, and the number of statements that still divide them. */
interface Budget {
  left: number
  statements: number
  yielder: Yielder
}

/** Bytes by which an expansion may exceed `PAGE_BYTES`: the first row of a page is always expanded completely. */
const MAX_EXPANDED = 16_777_216
/** Ids that one statement looks up: they are read on the serving thread. */
const MAX_IDS = 2000

const TOO_LARGE = new Failure(
  'BODY_TOO_LARGE',
  `What "expand" asks for has more than ${MAX_EXPANDED / 1_048_576} MiB, of a single record. Ask for fewer paths.`,
)

/**
 * Replaces ids by the referenced records, and adds those that refer to a record, with one statement per path and never
 * one per record. A reference that the user may not read stays an id, so that the record can be sent back as it was
 * read. Returns how many of the rows fit into the page, at least one.
 */
export async function expand(expansion: Expansion, model: Model, rows: Row[], paths: string[]): Promise<number> {
  if (paths.length === 0) return rows.length
  const budget: Budget = { left: PAGE_BYTES, statements: paths.length, yielder: new Yielder() }
  const completeRows = await expandRows(expansion, model, rows, paths, budget)
  // A record counts as often as the answer repeats it.
  if (rows[0] && recordBytes(rows[0]) > MAX_EXPANDED) throw TOO_LARGE
  return Math.min(completeRows, rowsThatFit(rows))
}

/** Expands the rows in place and returns how many are complete; the others did not fit into the budget. */
async function expandRows(
  expansion: Expansion,
  model: Model,
  rows: Row[],
  paths: string[],
  budget: Budget,
): Promise<number> {
  let completeRows = rows.length
  for (const name of topPaths(paths)) {
    const inverse = findInverse(model, name)
    if (inverse) {
      completeRows = Math.min(completeRows, await addInverse(expansion, inverse, rows, pathsBelow(paths, name), budget))
      continue
    }
    const field = visibleField(model, name) as Field
    const referred = expansion.models.get(fieldReference(field)?.model as string) as Model
    const idsOf = (row: Row) => [row[name]].flat().filter((id) => id !== null)
    const below = pathsBelow(paths, name)
    completeRows = Math.min(completeRows, rowsWithFewIds(rows, idsOf))
    const ids = rows.slice(0, completeRows).flatMap(idsOf)
    const { found, omitted } = await readReferences(expansion, referred, [...new Set(ids)], below, budget)
    await completeFirst(expansion, referred, idsOf(rows[0] ?? {}), below, budget, { found, omitted })
    const first = rows.findIndex((row) => idsOf(row).some((id) => omitted.has(id)))
    if (first >= 0) completeRows = Math.min(completeRows, Math.max(1, first))
    for (const row of rows)
      row[name] = Array.isArray(row[name])
        ? row[name].map((id) => found.get(id) ?? null)
        : (found.get(row[name]) ?? row[name])
  }
  return completeRows
}

/** How many rows have so few ids that all of them can be looked up at once, at least one. */
function rowsWithFewIds(rows: Row[], idsOf: (row: Row) => unknown[]): number {
  const ids = new Set<unknown>()
  const first = rows.findIndex((row) => {
    for (const id of idsOf(row)) ids.add(id)
    return ids.size > MAX_IDS
  })
  return first < 0 ? rows.length : Math.max(1, first)
}

/** The first row is expanded completely, however many records it refers to. */
async function completeFirst(
  expansion: Expansion,
  model: Model,
  ids: unknown[],
  below: string[],
  budget: Budget,
  { found, omitted }: LookupResult,
): Promise<void> {
  let bytes = MAX_EXPANDED
  for (;;) {
    const missing = ids.filter((id) => omitted.has(id))
    if (missing.length === 0) return
    if (performance.now() > expansion.deadline) throw tooSlowFailure(model)
    const more = await readReferences(expansion, model, missing, below, { ...budget, left: bytes, statements: 1 })
    for (const [id, record] of more.found) {
      found.set(id, record)
      bytes -= recordBytes(record)
    }
    if (bytes < 0 || more.omitted.size >= missing.length) throw TOO_LARGE
    for (const id of missing) if (!more.omitted.has(id)) omitted.delete(id)
  }
}

/** Records by id, and the ids for which there was no room. */
interface LookupResult {
  found: Map<unknown, Row>
  omitted: Set<unknown>
}

const pathsBelow = (paths: string[], name: string) =>
  paths.filter((path) => path.startsWith(`${name}.`)).map((path) => path.slice(name.length + 1))

/**
 * Adds the records that refer to each row, the first ones in the order of their ids. Returns how many rows are
 * complete. A row of which only some records fit has a cursor for the others, as if there were more.
 */
async function addInverse(
  expansion: Expansion,
  inverse: Inverse,
  rows: Row[],
  below: string[],
  budget: Budget,
): Promise<number> {
  const target = expansion.models.get(inverse.model) as Model
  const { found, isTruncated } = await readInverse(expansion, inverse, rows, below, budget)
  found.forEach(createRowDecoder(target))
  const completeRows = Math.min(await expandRows(expansion, target, found, below, budget), rowsThatFit(found))
  const isCut = isTruncated || completeRows < found.length
  const groups = Map.groupBy(found.slice(0, completeRows), (row) => row.related__of)
  const last = isCut ? (found[completeRows - 1] as Row).related__of : undefined
  let isBeyond = false
  let shown = 0
  for (const row of rows) {
    const data = groups.get(row.id) ?? []
    const total = (data[0]?.related__total ?? 0) as number
    row[inverse.name] = toRelated(expansion, target, data.slice(0, DEFAULT_LIMIT), total)
    if (!isBeyond) shown++
    isBeyond ||= row.id === last
  }
  return shown
}

/**
 * Finds one record more for each row than is shown. Runs on a search thread: a record may be referred to by any number.
 */
async function readInverse(
  { storage, models, access, user, deadline }: Expansion,
  inverse: Inverse,
  rows: Row[],
  below: string[],
  budget: Budget,
) {
  const target = models.get(inverse.model) as Model
  const reach = access.reachFor(target, 'read', user)
  const field = referringField(inverse, target)
  const key = field.links ? sql`link__target` : comparisonKey(field, storage.dialect)
  const table = sql.table(tableName(target))
  const links = sql`(SELECT "record" AS link__record, "target" AS link__target FROM ${sql.table(linkTable(target, field))})`
  const from = field.links ? sql`${links} AS links JOIN ${table} ON "id" = link__record` : table
  const columns = selectedColumns(target, { expand: below }).map((name) => sql.ref(name))
  const ids = storage.dialect.jsonEach(JSON.stringify(rows.map(({ id }) => id)))
  const wanted = sql`SELECT key AS wanted__key, CAST(value AS BIGINT) AS wanted__id FROM ${ids}`
  const isWanted = is`${key} IN (SELECT wanted__id FROM (${wanted}) AS wanted__ids)`
  const abortCheck = abortCondition({}, storage.dialect)
  // The first ones are chosen by what the index of the reference has; only these are read.
  const statement = sql`
    SELECT ${sql.join(columns)}, related__of, related__total
    FROM (
      SELECT "id" AS related__id, ${key} AS related__of, count(*) OVER (PARTITION BY ${key}) AS related__total,
        row_number() OVER (PARTITION BY ${key} ORDER BY "id") AS related__place
      FROM ${from} WHERE ${withReach(reach, abortCheck, isWanted)}
    ) AS related__all
    JOIN (${wanted}) AS wanted__all ON wanted__id = related__of
    JOIN ${table} ON "id" = related__id
    WHERE related__place <= ${DEFAULT_LIMIT + 1} ORDER BY wanted__key, related__id`.compile(storage.db)
  const share = Math.max(1, Math.floor(budget.left / budget.statements--))
  const { username, signal } = user
  const seconds = secondsUntil(deadline)
  const shapes = shapesWithOrderKeys([target, ...reach.models], storage.dialect.tables)
  const { rows: found, isTruncated } = await storage
    .search(statement, { username, seconds, bytes: share, signal, shapes })
    .catch((error: unknown) => {
      throw isFault(error, 'slow') ? tooSlowFailure(inverse) : error
    })
  for (const row of found) budget.left -= rowBytes(row)
  return { found, isTruncated }
}

/** If there are more records than are in `data`, `next` is the cursor of a find by the reference. */
function toRelated({ cursors }: Expansion, target: Model, data: Row[], total: number): RelatedRecords {
  for (const row of data) {
    delete row.related__of
    delete row.related__total
  }
  const id = data.at(-1)?.id as number
  const hasMore = data.length < total
  return { total, data, ...(hasMore && { next: cursors.make(target, nameOfOrder({ sort: [] }), { values: [], id }) }) }
}

const tooSlowFailure = ({ name }: { name: string }) =>
  new Failure(
    'FIND_TOO_SLOW',
    `"expand" of "${name}" took too long: there are too many records. Ask for fewer at once.`,
  )

/** Reads the referenced records in the order of `ids`, as far as the budget goes. `omitted` are the ids left out. */
async function readReferences(
  expansion: Expansion,
  model: Model,
  ids: unknown[],
  below: string[],
  budget: Budget,
): Promise<LookupResult> {
  const { storage, access, user } = expansion
  requireCurrentShape(storage, model)
  const reach = access.reachFor(model, 'read', user)
  const columns = selectedColumns(model, { expand: below }).map((name) => sql.ref(name))
  const wanted = storage.dialect.jsonEach(JSON.stringify(ids))
  // No field name contains `__`, so these names cannot clash with a column.
  const statement = sql`
    SELECT ${sql.join(columns)}
    FROM (SELECT key AS wanted__key, CAST(value AS BIGINT) AS wanted__id FROM ${wanted}) AS wanted__all
    CROSS JOIN ${sql.table(tableName(model))}
    WHERE ${withReachByIndex(reach, undefined, is`"id" = wanted__id`)} ORDER BY wanted__key`.compile(storage.db)
  // Each statement gets an equal share of the remaining bytes; `readUpTo` always returns the first row.
  const share = Math.max(0, Math.floor(budget.left / budget.statements--))
  const { rows, isTruncated } = await storage.readUpTo(recordRead(storage.dialect, model, statement), share)
  for (const row of rows) budget.left -= rowBytes(row)
  if (budget.left < -MAX_EXPANDED) throw TOO_LARGE
  rows.forEach(createRowDecoder(model))
  if (budget.yielder.isDue) await budget.yielder.yield()
  const completeRows = await expandRows(expansion, model, rows, below, budget)
  const found = new Map<unknown, Row>(rows.slice(0, completeRows).map((row) => [row.id, row]))
  const last = isTruncated ? ids.indexOf(rows.at(-1)?.id) + 1 : ids.length
  return { found, omitted: new Set([...ids.slice(last), ...rows.slice(completeRows).map(({ id }) => id)]) }
}
