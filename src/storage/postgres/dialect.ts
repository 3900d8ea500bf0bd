import { sql } from 'kysely'
import { type Dialect, literal } from '../storage.ts'
import { TABLES } from './tables.ts'

/** Types that items of a JSON array are cast to, by engine-independent column type. */
const CASTS: Record<string, string> = { INTEGER: 'bigint', REAL: 'double precision', BOOLEAN: 'integer' }

/** Up to so many bytes LIKE is fast, whatever the pattern. */
const SHORT = 1000

export const DIALECT: Dialect = {
  /** Long texts are matched by a regular expression, whose time grows only linearly with the length. */
  like(key, pattern) {
    // A pattern that ends with a lone escape character matches nothing; PostgreSQL's LIKE would raise an error.
    if (/(?:^|[^\\])(?:\\\\)*\\$/.test(pattern)) return sql`1 = 0`
    const text = sql`CAST(${key} AS TEXT) COLLATE "C"`
    const isLong = sql`octet_length(${key}) > ${sql.lit(SHORT)}`
    // biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII is meant
    if (/^[\x00-\x7f]*$/.test(pattern))
      return sql`CASE WHEN ${isLong} THEN ${text} ~* ${toRegExp(pattern)} ELSE ${text} ILIKE ${pattern} END`
    const folded = sql`dossier_fold(${key})`
    return sql`CASE WHEN ${isLong} THEN ${folded} ~ dossier_fold(${toRegExp(pattern)})
      ELSE ${folded} LIKE dossier_fold(${pattern}) END`
  },

  // Not needed: the server itself ends a search at its timeout or when it is cancelled.
  alive: () => sql`1 = 1`,

  each: (json) => sql`dossier_each(${json})`,

  at(value, place, type) {
    const text = sql`(${value}::jsonb ->> ${sql.lit(place)})`
    const cast = CASTS[type]
    const found = cast === undefined ? text : sql`${text}::${sql.raw(cast)}`
    return type === 'BOOLEAN' ? sql`(${found} = 1)` : found
  },

  list: (value) => sql`coalesce(json_agg(${value} ORDER BY ${value})::text, '[]')`,

  // The condition is checked once, before the first row is read and after the table is locked against changes.
  ifShape: (select, table, shape) => `SELECT * FROM (${select}) AS "read" WHERE (
    SELECT CASE WHEN EXISTS (SELECT 1 FROM dossier_tables WHERE tbl = ${literal(table)} AND shape = ${literal(shape)})
      THEN true ELSE dossier_stale() END)`,

  tables: TABLES,
}

/** A LIKE pattern as a regular expression: `%` is any text, `_` any one character, `\\` escapes the next character. */
function toRegExp(pattern: string): string {
  const parts = [...pattern.matchAll(/\\([\s\S])|([\s\S])/gu)].map(([, escaped, plain]) => {
    if (plain === '%') return '.*'
    return plain === '_' ? '.' : ((escaped ?? plain) as string).replace(/[^\p{L}\p{N}\s]/u, '\\$&')
  })
  return `^${parts.join('')}$`
}
