import { sql } from 'kysely'
import type { Dialect } from '../storage.ts'
import { TABLES } from './tables.ts'

/** What a value of a JSON array is cast to, by the house's word for the type of its column. */
const CASTS: Record<string, string> = { INTEGER: 'bigint', REAL: 'double precision', BOOLEAN: 'integer' }

/** Up to this length LIKE is quick, whatever the pattern. */
const SHORT = 1000

export const DIALECT: Dialect = {
  /** Of a long text, by a regular expression: its time grows with the length, and never faster. */
  like(key, pattern) {
    // What is escaped at the end is nothing: no text ends like that.
    if (/(?:^|[^\\])(?:\\\\)*\\$/.test(pattern)) return sql`1 = 0`
    const text = sql`CAST(${key} AS TEXT) COLLATE "C"`
    const isLong = sql`octet_length(${key}) > ${sql.lit(SHORT)}`
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the whole of ASCII is meant
    if (/^[\x00-\x7f]*$/.test(pattern))
      return sql`CASE WHEN ${isLong} THEN ${text} ~* ${toRegExp(pattern)} ELSE ${text} ILIKE ${pattern} END`
    const folded = sql`dossier_fold(${key})`
    return sql`CASE WHEN ${isLong} THEN ${folded} ~ dossier_fold(${toRegExp(pattern)})
      ELSE ${folded} LIKE dossier_fold(${pattern}) END`
  },

  // The server itself ends what takes too long.
  alive: () => sql`1 = 1`,

  each: (json) => sql`dossier_each(${json})`,

  at(value, place, type) {
    const text = sql`(${value}::jsonb ->> ${sql.lit(place)})`
    const cast = CASTS[type]
    const found = cast === undefined ? text : sql`${text}::${sql.raw(cast)}`
    return type === 'BOOLEAN' ? sql`(${found} = 1)` : found
  },

  list: (value) => sql`coalesce(json_agg(${value} ORDER BY ${value})::text, '[]')`,

  tables: TABLES,
}

/** A pattern as a regular expression: `%` is any text, `_` any one character, `\\` takes what follows literally. */
function toRegExp(pattern: string): string {
  const parts = [...pattern.matchAll(/\\([\s\S])|([\s\S])/gu)].map(([, escaped, plain]) => {
    if (plain === '%') return '.*'
    return plain === '_' ? '.' : ((escaped ?? plain) as string).replace(/[^\p{L}\p{N}\s]/u, '\\$&')
  })
  return `^${parts.join('')}$`
}
