import { type RawBuilder, sql } from 'kysely'
import { FIRST, LAST } from '../../lib/calendar-period.ts'
import { containsPattern, escapePattern, foldPattern, isAscii } from '../../lib/fold.ts'
import { BEFORE_A_WORD } from '../../lib/search-words.ts'
import { ADDED, REMOVED } from '../dialect.ts'
import { type Dialect, literal } from '../storage.ts'
import { mayContainPattern, shortWordPattern } from './short-words.ts'
import { TABLES } from './tables.ts'

/** Types that items of a JSON array are cast to, by engine-independent column type. */
const CASTS: Record<string, string> = { INTEGER: 'bigint', REAL: 'double precision', BOOLEAN: 'integer' }

/** Formats of `to_char`. */
const PERIODS: Record<string, string> = {
  day: 'YYYY-MM-DD',
  week: 'IYYY-"W"IW',
  month: 'YYYY-MM',
  quarter: 'YYYY-"Q"Q',
  year: 'YYYY',
}

/** Up to so many bytes LIKE is fast, whatever the pattern. */
const MAX_SHORT_TEXT_BYTES = 1000

export const DIALECT: Dialect = {
  lastChange: `SELECT (SELECT max(change) FROM dossier_changes) AS newest, dossier_settled() AS settled,
    (SELECT max(id) FROM dossier_migrations) AS tables, (SELECT max(gap) FROM dossier_restores) AS restored`,

  /** Long texts are matched by a regular expression, whose time grows only linearly with the length. */
  like(key, pattern) {
    const folded = foldPattern(pattern)
    if (folded === undefined) return sql`1 = 0`
    const text = sql`dossier_fold(${key})`
    return sql`CASE WHEN octet_length(${key}) > ${sql.lit(MAX_SHORT_TEXT_BYTES)} THEN ${text} ~ ${toRegExp(folded)}
      ELSE ${text} LIKE ${folded} END`
  },

  // The server may know other letters than Node does.
  orderValue: (text) => sql`dossier_order_key(${text})`,

  contains(texts, word) {
    const pattern = containsPattern(word)
    const isFolded = (text: RawBuilder<unknown>) => sql`dossier_fold(${text}) LIKE ${pattern}`
    const together = sql`concat_ws(chr(31), ${sql.join(texts)}) COLLATE "C"`
    const short = shortWordPattern(word)
    // Looking for the word as it stands takes a third of the time, and finds most matches.
    if (short !== undefined)
      return [...texts.map((text) => sql`${text} COLLATE "C" LIKE ${pattern}`), sql`${together} ~ ${short}`]
    if (!isAscii(word)) return [sql`(${together} ~ ${mayContainPattern(word)} AND ${isFolded(together)})`]
    // White space counts only where there is some in the word.
    if (word.includes(' ')) return texts.map(isFolded)
    // A text that contains the word as it stands contains it folded as well.
    return [
      ...texts.map((text) => sql`lower(${text} COLLATE "C") LIKE ${pattern}`),
      ...texts.map((text) => sql`octet_length(${text}) <> length(${text}) AND ${isFolded(text)}`),
    ]
  },

  nameRank(name, text) {
    const begins = (before: string) => sql`dossier_fold(${name}) LIKE ${`${before}${escapePattern(text)}%`}`
    const inside = sql.join(
      BEFORE_A_WORD.map((before) => begins(`%${before}`)),
      sql` OR `,
    )
    return sql`CASE WHEN ${begins('')} THEN 0 WHEN ${inside} THEN 1 ELSE 2 END`
  },

  // Not needed: the server itself ends a search at its timeout or when it is cancelled.
  abortCheck: () => sql`1 = 1`,

  jsonEach: (json) => sql`dossier_each(${json})`,

  changeItems: (array, change) => sql`CASE
    WHEN ${array} IS NOT NULL OR jsonb_array_length(CAST(${change} AS jsonb) -> 'add') > 0 THEN (
    SELECT '[' || coalesce(string_agg(item, ',' ORDER BY place), '') || ']' FROM (
      SELECT item, min(place) AS place FROM (
        SELECT value AS item, key AS place FROM dossier_each(${array})
        UNION ALL SELECT value, ${sql.lit(ADDED)} + key FROM dossier_each(CAST(${change} AS jsonb) ->> 'add')
        UNION ALL SELECT value, ${sql.lit(REMOVED)} FROM dossier_each(CAST(${change} AS jsonb) ->> 'remove')) AS items
      GROUP BY item HAVING max(place) < ${sql.lit(REMOVED)}) AS kept) END`,

  countItems: (array) => sql`coalesce(jsonb_array_length(CAST(${array} AS jsonb)), 0)`,

  jsonItem(value, place, type) {
    const text = sql`(${value}::jsonb ->> ${sql.lit(place)})`
    const cast = CASTS[type]
    const found = cast === undefined ? text : sql`${text}::${sql.raw(cast)}`
    return type === 'BOOLEAN' ? sql`(${found} = 1)` : found
  },

  decimalSum: (value) => sql`CAST(sum(CAST(${value} AS numeric)) AS text)`,

  period: (value, by, zone) =>
    sql`CASE WHEN ${value} < '0001' THEN ${yearZero(value, by)}
      ELSE to_char(CASE WHEN length(${value}) = 10 OR ${value} < ${FIRST} OR ${value} >= ${LAST}
        THEN CAST(left(${value}, 10) AS timestamp) ELSE CAST(${value} AS timestamptz) AT TIME ZONE ${zone} END,
        ${sql.lit(PERIODS[by])}) END`,

  jsonAggregate: (value) => sql`coalesce(json_agg(${value} ORDER BY ${value})::text, '[]')`,

  // The condition is checked once, before the first row is read and after the table is locked against changes.
  ifShape: (select, table, shape) => `SELECT * FROM (${select}) AS "read" WHERE (
    SELECT CASE WHEN EXISTS (SELECT 1 FROM dossier_tables WHERE tbl = ${literal(table)} AND shape = ${literal(shape)})
      THEN true ELSE dossier_stale() END)`,

  tables: TABLES,
}

/** PostgreSQL has no year 0. */
const yearZero = (value: RawBuilder<unknown>, by: string) =>
  ({
    day: sql`left(${value}, 10)`,
    month: sql`left(${value}, 7)`,
    quarter: sql`'0000-Q' || (CAST(substr(${value}, 6, 2) AS integer) + 2) / 3`,
    week: sql`'0000-W00'`,
    year: sql`'0000'`,
  })[by]

/** A LIKE pattern as a regular expression: `%` is any text, `_` any one character, `\\` escapes the next character. */
function toRegExp(pattern: string): string {
  const parts = [...pattern.matchAll(/\\([\s\S])|([\s\S])/gu)].map(([, escaped, plain]) => {
    if (plain === '%') return '.*'
    return plain === '_' ? '.' : ((escaped ?? plain) as string).replace(/[^\p{L}\p{N}\s]/u, '\\$&')
  })
  return `^${parts.join('')}$`
}
