import { type RawBuilder, type SqlBool, sql } from 'kysely'
import { containsPattern, escapePattern, foldPattern, isAscii } from '../../lib/fold.ts'
import { orderKey } from '../../lib/order-key.ts'
import { BEFORE_A_WORD } from '../../lib/search-words.ts'
import { ADDED, REMOVED } from '../dialect.ts'
import type { Dialect } from '../storage.ts'
import { TABLES } from './tables.ts'

/** Up to so many bytes SQLite's own LIKE is fast, whatever the pattern. */
const MAX_SHORT_TEXT_BYTES = 1000

/** Periods of a day that its text tells. */
const PERIODS: Record<string, (value: RawBuilder<unknown>) => RawBuilder<string>> = {
  day: (value) => sql`substr(${value}, 1, 10)`,
  month: (value) => sql`substr(${value}, 1, 7)`,
  quarter: (value) => sql`substr(${value}, 1, 4) || '-Q' || ((CAST(substr(${value}, 6, 2) AS INTEGER) + 2) / 3)`,
  year: (value) => sql`substr(${value}, 1, 4)`,
}

/** Whether a text is short, and folding it changes nothing but its case. */
const isPlain = (text: RawBuilder<unknown>) => sql`octet_length(${text}) = length(${text})
  AND octet_length(${text}) <= ${sql.lit(MAX_SHORT_TEXT_BYTES)} AND instr(${text}, '  ') = 0 AND ${text} NOT GLOB ${sql.lit('*[\t-\r]*')}`

export const DIALECT: Dialect = {
  // Transactions run one after the other, so all that is visible is settled. One aggregate only, which the end of the
  // index answers: with two of them, SQLite would read the whole table. While texts that were changed at a shell have
  // no order keys yet, the order of what is found changes with no other change.
  lastChange: `SELECT newest, iif(EXISTS (SELECT 1 FROM dossier_unsorted), 0, newest) AS settled,
    (SELECT max(id) FROM dossier_migrations) AS tables, (SELECT max(gap) FROM dossier_restores) AS restored
    FROM (SELECT max(change) AS newest FROM dossier_changes)`,

  like(key, pattern) {
    const folded = foldPattern(pattern)
    if (folded === undefined) return sql`1 = 0`
    const own = sql<SqlBool>`dossier_like(${key}, ${folded})`
    if (!isAscii(folded)) return own
    // Calling the JavaScript function takes longer than the rest of this expression, and most texts do not need it.
    return sql`iif(${isPlain(key)}, ${key} LIKE ${folded} ESCAPE '\\', ${own})`
  },

  orderValue: (text) => sql`${orderKey(text)}`,

  contains(texts, word) {
    const pattern = containsPattern(word)
    // White space counts only where there is some in the word.
    if (word.includes(' ')) return texts.map((text) => DIALECT.like(text, pattern))
    const isNotAscii = (text: RawBuilder<unknown>) => sql`octet_length(${text}) <> length(${text})`
    const matchesFolded = (text: RawBuilder<unknown>) => sql`dossier_like(${text}, ${pattern})`
    if (!isAscii(word)) return texts.map((text) => sql`${isNotAscii(text)} AND ${matchesFolded(text)}`)
    const isShort = (text: RawBuilder<unknown>) => sql`octet_length(${text}) <= ${sql.lit(MAX_SHORT_TEXT_BYTES)}`
    // A text that contains the word as it stands contains it folded as well.
    return [
      ...texts.map((text) => sql`${isShort(text)} AND ${text} LIKE ${pattern} ESCAPE '\\'`),
      ...texts.map((text) => sql`(NOT ${isShort(text)} OR ${isNotAscii(text)}) AND ${matchesFolded(text)}`),
    ]
  },

  nameRank(name, text) {
    const begins = (before: string) => sql`${name} LIKE ${`${before}${escapePattern(text)}%`} ESCAPE '\\'`
    const inside = sql.join(
      BEFORE_A_WORD.map((before) => begins(`%${before}`)),
      sql` OR `,
    )
    return sql`iif(${isPlain(name)}, CASE WHEN ${begins('')} THEN 0 WHEN ${inside} THEN 1 ELSE 2 END,
      dossier_name_rank(${name}, ${text}))`
  },

  /**
   * Calling the function costs more than reading a row, so only about one row in `everyRows` does. A hash of the id
   * selects them: with `id % n`, ids in steps of n might never be selected.
   */
  abortCheck(everyRows, key = sql`"id"`) {
    if (everyRows <= 1) return sql`dossier_alive()`
    return sql`((${key} * 2654435761 >> 7) % ${sql.lit(everyRows)} <> 0 OR dossier_alive())`
  },

  jsonEach: (json) => sql`json_each(${json})`,

  // In one pass: to look for each item in the other array would take a time that grows with the square of their length.
  changeItems: (array, change) => sql`iif(${array} IS NULL AND json_array_length(${change}, '$.add') = 0, NULL, (
    SELECT '[' || coalesce(group_concat(item, ',' ORDER BY place), '') || ']' FROM (
      SELECT item, min(place) AS place FROM (
        SELECT value AS item, key AS place FROM json_each(${array})
        UNION ALL SELECT value, ${sql.lit(ADDED)} + key FROM json_each(${change}, '$.add')
        UNION ALL SELECT value, ${sql.lit(REMOVED)} FROM json_each(${change}, '$.remove')) AS items
      GROUP BY item HAVING max(place) < ${sql.lit(REMOVED)}) AS kept))`,

  countItems: (array) => sql`coalesce(json_array_length(${array}), 0)`,

  jsonItem(value, place, type) {
    const found = sql`json_extract(${value}, ${sql.lit(`$[${place}]`)})`
    // JSON writes a large number in rounded digits. Read as an integer, it would differ from the stored REAL.
    return type === 'REAL' ? sql`CAST(${found} AS REAL)` : found
  },

  decimalSum: (value) => sql`dossier_decimal_sum(${value})`,

  /** Calling the JavaScript function takes longer than this SQL. */
  period(value, by, zone) {
    const own = sql`dossier_period(${value}, ${by}, ${zone})`
    const plain = PERIODS[by]?.(value)
    if (!plain) return own as typeof value
    return zone === 'UTC' ? plain : sql`iif(length(${value}) = 10, ${plain}, ${own})`
  },

  jsonAggregate: (value) => sql`json_group_array(${value} ORDER BY ${value})`,

  // A reader knows the shapes of its snapshot.
  ifShape: (select) => select,

  tables: TABLES,
}
