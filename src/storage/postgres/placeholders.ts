import { Memo } from '../../lib/memo.ts'

/** Maximum number of cached texts, and the maximum length of one. */
const MAX_CACHED_STATEMENTS = 5000
const MAX_LENGTH = 20_000

const cachedStatements = new Memo<string>(MAX_CACHED_STATEMENTS, MAX_LENGTH)

/** Quoted texts and names, which stay as they are, and placeholders. */
const PARTS = /'(?:[^']|'')*'|"[^"]*"|\?/g

/** Replaces each `?` in SQL with `$1`, `$2` and so on, as PostgreSQL requires. */
export function numberPlaceholders(sql: string): string {
  return cachedStatements.getOrCompute(sql, () => {
    let count = 0
    return sql.replace(PARTS, (part) => (part === '?' ? `$${++count}` : part))
  })
}
