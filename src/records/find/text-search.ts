import { type RawBuilder, sql } from 'kysely'
import { joinInGroups } from '../../lib/in-groups.ts'
import { isSearchable, type Model, visibleField } from '../../model/model.ts'
import type { TextSearch } from '../../requests/query.ts'
import { FIELD_SEPARATOR } from '../../requests/text-search.ts'
import type { Dialect } from '../../storage/storage.ts'
import { all, type Condition, is } from '../../tables/condition.ts'
import type { OrderKey } from './order.ts'

/** Matches up to which the best ones come first; more are in the order of their ids. */
export const MAX_RANKED = 10_000

/** PostgreSQL allows a function 100 arguments. */
const MAX_ARGUMENTS = 90

/** What may stand before a word of a name. */
const BEFORE_A_WORD = [' ', '-']

/** The condition for records that contain each word in one of the model's `search` fields. */
export function containsWords(model: Model, { words }: TextSearch, dialect: Dialect): Condition {
  const text = joinInGroups<RawBuilder<unknown>>(
    model.search.map((name) => sql.ref(name)),
    MAX_ARGUMENTS,
    (some) => sql`concat_ws(${sql.lit(FIELD_SEPARATOR)}, ${sql.join(some)})`,
  )
  return all(words.map((word) => is`${dialect.like(text, `%${escapeLike(word)}%`)}`))
}

/** Best first: the name begins with what is searched for; a word of the name does; all others. */
export function rankOrder(model: Model, { text }: TextSearch, dialect: Dialect): OrderKey[] {
  const name = sql`concat_ws('', ${sql.ref(nameOf(model))})`
  const begins = (before: string) => dialect.like(name, `${before}${escapeLike(text)}%`)
  const inside = sql.join(
    BEFORE_A_WORD.map((before) => begins(`%${before}`)),
    sql` OR `,
  )
  const key = sql`CASE WHEN ${begins('')} THEN 0 WHEN ${inside} THEN 1 ELSE 2 END` as RawBuilder<number>
  return [{ key, descending: false }]
}

/** The field that names a record, if it can be searched; otherwise the first one that is. */
function nameOf(model: Model): string {
  const field = visibleField(model, model.nameField ?? '')
  return field && isSearchable(field) ? field.name : (model.search[0] as string)
}

const escapeLike = (text: string) => text.replace(/[\\%_]/g, '\\$&')
