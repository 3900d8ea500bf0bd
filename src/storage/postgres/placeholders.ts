import { Memo } from '../../lib/memo.ts'

/** Texts that are remembered, and how long they may be for that. */
const MAX_REMEMBERED = 5000
const MAX_LENGTH = 20_000

const known = new Memo<string>(MAX_REMEMBERED, MAX_LENGTH)

/** What stands in quotes is left as it is. */
const PARTS = /'(?:[^']|'')*'|"[^"]*"|\?/g

/** SQL as the house writes it, with `?` for each parameter, as PostgreSQL reads it, with `$1`, `$2` and so on. */
export function numbered(sql: string): string {
  return known.getOrCompute(sql, () => {
    let count = 0
    return sql.replace(PARTS, (part) => (part === '?' ? `$${++count}` : part))
  })
}
