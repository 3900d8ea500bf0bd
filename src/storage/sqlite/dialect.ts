import { type RawBuilder, type SqlBool, sql } from 'kysely'
import { containsPattern, foldPattern, isAscii } from '../../lib/fold.ts'
import { orderKey } from '../../lib/order-key.ts'
import { ADDED, REMOVED } from '../changed-items.ts'
import type { Dialect } from '../storage.ts'
import { TABLES } from './tables.ts'

/** Up to so many bytes SQLite's own LIKE is fast, whatever the pattern. */
const SHORT = 1000

/** Periods of a day that its text tells. */
const PERIODS: Record<string, (value: RawBuilder<unknown>) => RawBuilder<string>> = {
  day: (value) => sql`substr(${value}, 1, 10)`,
  month: (value) => sql`substr(${value}, 1, 7)`,
  quarter: (value) => sql`substr(${value}, 1, 4) || '-Q' || ((CAST(substr(${value}, 6, 2) AS INTEGER) + 2) / 3)`,
  year: (value) => sql`substr(${value}, 1, 4)`,
}

export const DIALECT: Dialect = {
  // Transactions run one after the other, so all that is visible is settled. One aggregate only, which the end of the index
  // answers: with two of them, SQLite would read the whole table.
  lastChange: `SELECT newest, newest AS settled, (SELECT max(id) FROM dossier_migrations) AS tables
    FROM (SELECT max(change) AS newest FROM dossier_changes)`,

  like(key, pattern) {
    const folded = foldPattern(pattern)
    if (folded === undefined) return sql`1 = 0`
    const own = sql<SqlBool>`dossier_like(${key}, ${folded})`
    if (!isAscii(folded)) return own
    // Calling a function takes longer than all of this, and most texts need it not.
    const isPlain = sql`octet_length(${key}) = length(${key}) AND octet_length(${key}) <= ${sql.lit(SHORT)}
      AND instr(${key}, '  ') = 0 AND ${key} NOT GLOB ${sql.lit('*[\t-\r]*')}`
    return sql`iif(${isPlain}, ${key} LIKE ${folded} ESCAPE '\\', ${own})`
  },

  orderValue: (text) => sql`${orderKey(text)}`,

  contains(key, word) {
    const pattern = containsPattern(word)
    const isOwn = sql`dossier_like(${key}, ${pattern})`
    // White space counts only where there is some in the word.
    if (word.includes(' ')) return DIALECT.like(key, pattern)
    const isShort = sql`octet_length(${key}) <= ${sql.lit(SHORT)}`
    const isOther = sql`octet_length(${key}) <> length(${key})`
    if (!isAscii(word)) return sql`(${isOther} AND ${isOwn})`
    // What contains the word as it stands also does when it is folded.
    return sql`(${isShort} AND ${key} LIKE ${pattern} ESCAPE '\\' OR (NOT ${isShort} OR ${isOther}) AND ${isOwn})`
  },

  /** A call costs more than a row, so a hash of the id selects some rows: no pattern of ids avoids all calls. */
  alive(everyRows, key = sql`"id"`) {
    if (everyRows <= 1) return sql`dossier_alive()`
    return sql`((${key} * 2654435761 >> 7) % ${sql.lit(everyRows)} <> 0 OR dossier_alive())`
  },

  each: (json) => sql`json_each(${json})`,

  // In one pass: to look for each item in the other array would take a time that grows with the square of their length.
  changeItems: (array, change) => sql`iif(${array} IS NULL AND json_array_length(${change}, '$.add') = 0, NULL, (
    SELECT '[' || coalesce(group_concat(item, ',' ORDER BY place), '') || ']' FROM (
      SELECT item, min(place) AS place FROM (
        SELECT value AS item, key AS place FROM json_each(${array})
        UNION ALL SELECT value, ${sql.lit(ADDED)} + key FROM json_each(${change}, '$.add')
        UNION ALL SELECT value, ${sql.lit(REMOVED)} FROM json_each(${change}, '$.remove')) AS items
      GROUP BY item HAVING max(place) < ${sql.lit(REMOVED)}) AS kept))`,

  countItems: (array) => sql`coalesce(json_array_length(${array}), 0)`,

  at(value, place, type) {
    const found = sql`json_extract(${value}, ${sql.lit(`$[${place}]`)})`
    // JSON writes a large number in rounded digits. Read as an integer, it would differ from the stored REAL.
    return type === 'REAL' ? sql`CAST(${found} AS REAL)` : found
  },

  decimalSum: (value) => sql`dossier_decimal_sum(${value})`,

  /** Calling a function takes longer than all of this. */
  period(value, by, zone) {
    const own = sql`dossier_period(${value}, ${by}, ${zone})`
    const plain = PERIODS[by]?.(value)
    if (!plain) return own as typeof value
    return zone === 'UTC' ? plain : sql`iif(length(${value}) = 10, ${plain}, ${own})`
  },

  list: (value) => sql`json_group_array(${value} ORDER BY ${value})`,

  // A reader knows the shapes of its snapshot.
  ifShape: (select) => select,

  tables: TABLES,
}
