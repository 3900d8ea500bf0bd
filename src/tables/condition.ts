import { type RawBuilder, type SqlBool, sql } from 'kysely'

/** A part of a WHERE. It is always in parentheses, so that it can be put anywhere. */
export type Condition = RawBuilder<SqlBool> & { readonly inParentheses: true }

/** The only way to make one. Identifiers come from models; what else is put in is bound. */
export function is(strings: TemplateStringsArray, ...values: unknown[]): Condition {
  return sql<SqlBool>`(${sql(strings, ...values)})` as Condition
}

// Not "true" and "false": a field may have such a name.
export const EVERYTHING = is`1 = 1`
export const NOTHING = is`1 = 0`

export const all = (conditions: Condition[]): Condition => joined(conditions, sql` AND `, EVERYTHING)

export const any = (conditions: Condition[]): Condition => joined(conditions, sql` OR `, NOTHING)

/** Conditions that are joined at a time: SQLite bounds how deep an expression may be. */
const JOINED = 100

function joined(conditions: Condition[], word: RawBuilder<unknown>, ofNone: Condition): Condition {
  if (conditions.length === 0) return ofNone
  if (conditions.length <= JOINED) return is`${sql.join(conditions, word)}`
  const groups = Array.from({ length: Math.ceil(conditions.length / JOINED) }, (_, index) =>
    joined(conditions.slice(index * JOINED, (index + 1) * JOINED), word, ofNone),
  )
  return joined(groups, word, ofNone)
}

/** A comparison with what is not set is neither true nor false: "not" takes that for false, and so is true. */
export const not = (condition: Condition): Condition => is`NOT coalesce(${condition}, 0)`
