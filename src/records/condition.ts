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

export const all = (conditions: Condition[]): Condition => is`${sql.join(conditions, sql` AND `)}`

export const any = (conditions: Condition[]): Condition => is`${sql.join(conditions, sql` OR `)}`

/** A comparison with what is not set is neither true nor false: "not" takes that for false, and so is true. */
export const not = (condition: Condition): Condition => is`NOT coalesce(${condition}, 0)`
