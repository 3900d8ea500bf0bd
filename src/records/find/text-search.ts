import { type RawBuilder, sql } from 'kysely'
import { escapePattern } from '../../lib/fold.ts'
import { isSearchable, type Model, visibleField } from '../../model/model.ts'
import type { Position } from '../../requests/cursor.ts'
import type { Query, TextSearch } from '../../requests/query.ts'
import { FIELD_SEPARATOR } from '../../requests/text-search.ts'
import type { Dialect, Row } from '../../storage/storage.ts'
import { all, any, type Condition, is } from '../../tables/condition.ts'
import type { OrderKey } from './order.ts'

/** Matches up to which the best ones come first; more are in the order of their ids. */
export const MAX_RANKED = 10_000

/** A match, and how well it matches. */
export interface Ranked extends Row {
  id: number
  sort__0: number
}

/** More than all ranked matches take. */
export const RANKED_BYTES = (MAX_RANKED + 1) * 100

/** Texts that a word is looked for in; a model has at most 1,000 fields, and PostgreSQL allows a function 100 arguments. */
const MAX_TEXTS = 12

/** What may stand before a word of a name. */
const BEFORE_A_WORD = [' ', '-']

/** The condition for records that contain each word in one of the model's `search` fields. */
export function containsWords(model: Model, { words }: TextSearch, dialect: Dialect): Condition {
  const texts = searchedTexts(model)
  return all(words.map((word) => any(texts.map((text) => is`${dialect.contains(text, word)}`))))
}

/** The fields one by one, or if there are many, several in one text: no word contains what separates them. */
function searchedTexts(model: Model): RawBuilder<unknown>[] {
  const fields = model.search.map((name) => textOf(name, model))
  const size = Math.ceil(fields.length / MAX_TEXTS)
  if (size === 1) return fields
  const groups = Array.from({ length: Math.ceil(fields.length / size) }, (_, nth) =>
    fields.slice(nth * size, (nth + 1) * size),
  )
  return groups.map((some) => sql`concat_ws(${sql.lit(FIELD_SEPARATOR)}, ${sql.join(some)})`)
}

function textOf(name: string, model: Model): RawBuilder<unknown> {
  const isInteger = model.fields.some((field) => field.name === name && field.type === 'integer')
  return isInteger ? sql`CAST(${sql.ref(name)} AS TEXT)` : sql.ref(name)
}

/** Best first: the name begins with what is searched for; a word of the name does; all others. */
export function rankOrder(model: Model, { text }: TextSearch, dialect: Dialect): OrderKey[] {
  const name = textOf(nameOf(model), model)
  const begins = (before: string) => dialect.like(name, `${before}${escapePattern(text)}%`)
  const inside = sql.join(
    BEFORE_A_WORD.map((before) => begins(`%${before}`)),
    sql` OR `,
  )
  const key = sql`CASE WHEN ${begins('')} THEN 0 WHEN ${inside} THEN 1 ELSE 2 END` as RawBuilder<number>
  return [{ key, descending: false }]
}

/** A page of the best matches, and one more if there are any. */
export function bestOf(ranked: Ranked[], { offset, limit }: Query, position: Position | undefined): Ranked[] {
  const [rank, id] = [Number(position?.values[0]), Number(position?.id)]
  const left = position
    ? ranked.filter((match) => match.sort__0 > rank || (match.sort__0 === rank && match.id > id))
    : ranked
  const sorted = left.toSorted((one, other) => one.sort__0 - other.sort__0 || one.id - other.id)
  return sorted.slice(offset, offset + limit + 1)
}

export function isOneOf(matches: Ranked[], dialect: Dialect): Condition {
  const ids = JSON.stringify(matches.map(({ id }) => id))
  return is`"id" IN (SELECT CAST(value AS BIGINT) FROM ${dialect.each(ids)})`
}

/** The field that names a record, if it can be searched; otherwise the first one that is. */
function nameOf(model: Model): string {
  const field = visibleField(model, model.nameField ?? '')
  return field && isSearchable(field) ? field.name : (model.search[0] as string)
}
