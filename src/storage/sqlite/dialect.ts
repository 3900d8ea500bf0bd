import { sql } from 'kysely'
import type { Dialect } from '../storage.ts'
import { TABLES } from './tables.ts'

/** Up to this length SQLite's own LIKE is quick, whatever the pattern. */
const SHORT = 1000

export const DIALECT: Dialect = {
  like(key, pattern) {
    const own = sql`dossier_like(${key}, ${pattern})`
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the whole of ASCII is meant
    if (!/^[\x00-\x7f]*$/.test(pattern)) return sql`${own}`
    return sql`iif(octet_length(${key}) > ${sql.lit(SHORT)}, ${own}, ${key} LIKE ${pattern} ESCAPE '\\')`
  },

  /** By a number made from the id, for a call costs more than a row does: no pattern of ids makes it never happen. */
  alive(everyRows) {
    if (everyRows <= 1) return sql`dossier_alive()`
    return sql`(("id" * 2654435761 >> 7) % ${sql.lit(everyRows)} <> 0 OR dossier_alive())`
  },

  each: (json) => sql`json_each(${json})`,

  at(value, place, type) {
    const found = sql`json_extract(${value}, ${sql.lit(`$[${place}]`)})`
    // Large ones would else be read as integers, which are others.
    return type === 'REAL' ? sql`CAST(${found} AS REAL)` : found
  },

  list: (value) => sql`json_group_array(${value} ORDER BY ${value})`,

  tables: TABLES,
}
