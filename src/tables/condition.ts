import { type RawBuilder, type SqlBool, sql } from 'kysely'
import { joinInGroups } from '../lib/in-groups.ts'

/** A part of a WHERE. It is always in parentheses, so that it can be put anywhere. */
export type Condition = RawBuilder<SqlBool> & { readonly inParentheses: true }

/** The only way to make one. Identifiers come from models; what else is put in is bound. */
export function is(strings: TemplateStringsArray, ...values: unknown[]): Condition {
  return sql<SqlBool>`(${sql(strings, ...values)})` as Condition
}

// Not "true" and "false": a field may have such a name.
export const ALWAYS = is`1 = 1`
export const NEVER = is`1 = 0`

export const all = (conditions: Condition[]): Condition => joined(conditions, sql` AND `, ALWAYS)

export const any = (conditions: Condition[]): Condition => joined(conditions, sql` OR `, NEVER)

/** Conditions that are joined at a time: SQLite bounds how deep an expression may be. */
const JOINED = 100

const joined = (conditions: Condition[], word: RawBuilder<unknown>, ofNone: Condition): Condition =>
  conditions.length === 0 ? ofNone : joinInGroups(conditions, JOINED, (some) => is`${sql.join(some, word)}`)

/** A comparison with what is not set is neither true nor false: "not" takes that for false, and so is true. */
export const not = (condition: Condition): Condition => is`NOT coalesce(${condition}, 1 = 0)`
