import { type RawBuilder, sql } from 'kysely'
import { type Reach, withReach } from '../../filters/reach.ts'
import { containsPattern } from '../../lib/fold.ts'
import { inGroups } from '../../lib/in-groups.ts'
import { isSearchable, type Model, tableName, unrestrictedModel, visibleField } from '../../model/model.ts'
import type { Position } from '../../requests/cursor.ts'
import type { Query, TextSearch } from '../../requests/query.ts'
import { FIELD_SEPARATOR } from '../../requests/text-search.ts'
import { PAGE_BYTES } from '../../storage/size.ts'
import { type Dialect, isFault, type Storage } from '../../storage/storage.ts'
import { all, any, type Condition, is } from '../../tables/condition.ts'
import { searchDefinition, searchIndexName } from '../../tables/search-index.ts'
import { shapesWithOrderKeys } from '../../tables/shape.ts'
import type { Caller } from '../caller.ts'
import type { OrderTerm } from './order.ts'

/** Matches up to which the best ones come first; more are in the order of their ids. */
export const MAX_RANKED = 10_000

/**
 * Texts that a word is looked for in; a model has at most 1,000 fields, and PostgreSQL allows a function 100 arguments.
 */
const MAX_TEXTS = 12

/** The condition for records that contain each word in one of the model's `search` fields. */
export function containsWords(model: Model, { words }: TextSearch, dialect: Dialect): Condition {
  const texts = searchedTexts(model)
  return all(words.map((word) => any(dialect.contains(texts, word).map((one) => is`${one}`))))
}

/** The fields one by one, or if there are many, several in one text: no word contains what separates them. */
function searchedTexts(model: Model): RawBuilder<unknown>[] {
  const fields = model.search.map((name) => textOf(name, model))
  const size = Math.ceil(fields.length / MAX_TEXTS)
  if (size === 1) return fields
  return inGroups(fields, size).map((some) => sql`concat_ws(${sql.lit(FIELD_SEPARATOR)}, ${sql.join(some)})`)
}

function textOf(name: string, model: Model): RawBuilder<unknown> {
  const isInteger = model.fields.some((field) => field.name === name && field.type === 'integer')
  return isInteger ? sql`CAST(${sql.ref(name)} AS TEXT)` : sql.ref(name)
}

/** Best first: the name begins with what is searched for; a word of the name does; all others. */
export function rankOrder(model: Model, { text }: TextSearch, dialect: Dialect): OrderTerm[] {
  const key = dialect.nameRank(textOf(nameOf(model), model), text)
  return [{ key, descending: false }]
}

/** Whether the best matches come first. A cursor of a page in the order of ids has no rank. */
export const isRanked = ({ sort }: Query, position: Position | undefined) =>
  sort.length === 0 && position?.values.length !== 0

/** How an index proposes records: a query for their ids, or a condition. And the shapes for which it does so. */
export interface IndexCandidates {
  records?: RawBuilder<unknown> | undefined
  /** whether these may be most of all records */
  mayProposeMost?: boolean
  condition?: Condition
  shapes: Record<string, string>
}

/** Records of which a sample is taken to estimate how many match, and how long that may take. */
const SAMPLE = 200
const SAMPLE_SECONDS = 0.03

/** If more than this part of all records matches, it is faster to read all of them than to ask an index. */
export const MAX_INDEXED_SHARE = 0.5

/** Estimates the share of records that match, from the first ones. Returns 0 if that takes too long. */
export async function estimateSelectivity(
  model: Model,
  search: TextSearch,
  reach: Reach,
  caller: Caller,
  storage: Storage,
): Promise<number> {
  const { dialect, db } = storage
  const first = sql`"id" IN (SELECT "id" FROM ${sql.table(tableName(model))} ORDER BY "id" LIMIT ${SAMPLE})`
  const where = withReach(reach, is`${first}`, is`${dialect.abortCheck(1)}`, containsWords(model, search, dialect))
  const statement = sql`SELECT count(*) AS matching FROM ${sql.table(tableName(model))} WHERE ${where}`.compile(db)
  const shapes = shapesWithOrderKeys([model, ...reach.models], dialect.tables)
  const { username, signal } = caller
  try {
    const options = { username, signal, seconds: SAMPLE_SECONDS, bytes: PAGE_BYTES, shapes }
    const { rows } = await storage.search(statement, options)
    return (rows[0]?.matching as number) / SAMPLE
  } catch (error) {
    if (isFault(error, 'slow')) return 0
    throw error
  }
}

/** Undefined if there is no index, if it is not filled yet, or if the words are too short for it. */
export function findCandidates(model: Model, { words }: TextSearch, storage: Storage): IndexCandidates | undefined {
  const { tables } = storage.dialect
  const table = tableName(model)
  const [name, definition] = [searchIndexName(table), searchDefinition(unrestrictedModel(model), tables)]
  if (storage.shape(name) !== definition) return undefined
  const shapes = { [name]: definition }
  const records = tables.wordIndex?.proposeIds(name, table, words)
  const conditions = words.flatMap((word) => {
    const mayContain = tables.trigramIndex?.mayContain(unrestrictedModel(model).search, word, containsPattern(word))
    return mayContain ? [is`${mayContain}`] : []
  })
  if (records) return { records: records.ids, mayProposeMost: records.mayProposeMost, shapes }
  return conditions.length > 0 ? { condition: all(conditions), shapes } : undefined
}

/** The field that names a record, if it can be searched; otherwise the first one that is. */
function nameOf(model: Model): string {
  const field = visibleField(model, model.nameField ?? '')
  return field && isSearchable(field) ? field.name : (model.search[0] as string)
}
