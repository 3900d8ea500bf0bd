import { sql } from 'kysely'
import type { Dialect } from '../storage.ts'
import { TABLES } from './tables.ts'

/** Up to so many bytes SQLite's own LIKE is fast, whatever the pattern. */
const SHORT = 1000

export const DIALECT: Dialect = {
  like(key, pattern) {
    const own = sql`dossier_like(${key}, ${pattern})`
    // biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII is meant
    if (!/^[\x00-\x7f]*$/.test(pattern)) return sql`${own}`
    return sql`iif(octet_length(${key}) > ${sql.lit(SHORT)}, ${own}, ${key} LIKE ${pattern} ESCAPE '\\')`
  },

  /** A call costs more than a row, so a hash of the id selects some rows: no pattern of ids avoids all calls. */
  alive(everyRows) {
    if (everyRows <= 1) return sql`dossier_alive()`
    return sql`(("id" * 2654435761 >> 7) % ${sql.lit(everyRows)} <> 0 OR dossier_alive())`
  },

  each: (json) => sql`json_each(${json})`,

  at(value, place, type) {
    const found = sql`json_extract(${value}, ${sql.lit(`$[${place}]`)})`
    // JSON writes a large number in rounded digits. Read as an integer, it would differ from the stored REAL.
    return type === 'REAL' ? sql`CAST(${found} AS REAL)` : found
  },

  list: (value) => sql`json_group_array(${value} ORDER BY ${value})`,

  // A reader knows the shapes of its snapshot.
  ifShape: (select) => select,

  tables: TABLES,
}
