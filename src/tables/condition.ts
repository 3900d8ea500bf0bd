import { type RawBuilder, type SqlBool, sql } from 'kysely'
import { joinInGroups } from '../lib/in-groups.ts'

/** A part of a WHERE clause. It is always in parentheses, so that it can be combined with any other. */
export type Condition = RawBuilder<SqlBool> & { readonly inParentheses: true }

/** The only way to create a `Condition`. Identifiers come from models; other values are bound. */
export function is(strings: TemplateStringsArray, ...values: unknown[]): Condition {
  return sql<SqlBool>`(${sql(strings, ...values)})` as Condition
}

// Not `true` and `false`: SQLite takes these words for columns if fields have such names.
export const ALWAYS = is`1 = 1`
export const NEVER = is`1 = 0`

export const all = (conditions: Condition[]): Condition => joined(conditions, sql` AND `, ALWAYS)

export const any = (conditions: Condition[]): Condition => joined(conditions, sql` OR `, NEVER)

/** Conditions joined at one level: SQLite limits the depth of an expression. */
const JOINED = 100

const joined = (conditions: Condition[], word: RawBuilder<unknown>, ofNone: Condition): Condition =>
  conditions.length === 0 ? ofNone : joinInGroups(conditions, JOINED, (some) => is`${sql.join(some, word)}`)

/** A comparison with NULL is neither true nor false. `not` takes it for false, so that its negation is true. */
export const not = (condition: Condition): Condition => is`NOT coalesce(${condition}, 1 = 0)`
