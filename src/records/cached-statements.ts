import { type CompiledQuery, type RawBuilder, sql } from 'kysely'
import type { Reach } from '../filters/reach.ts'
import { Memo } from '../lib/memo.ts'
import type { Statement } from '../storage/storage.ts'

/** Compiled statements that are kept; the clients of a model use a handful. */
const MAX_STATEMENTS = 200

/** Stands for a bound value; `fill` gets the value from the arguments of an execution. */
class Placeholder {
  readonly fill: (given: never) => unknown

  constructor(fill: (given: never) => unknown) {
    this.fill = fill
  }
}

/** Placeholders for what a reach binds; `reachOf` gets the reach from the arguments of an execution. */
export const reachValues =
  <Given>(reachOf: (given: Given) => Reach) =>
  (index: number) =>
    new Placeholder((given: Given) => reachOf(given).values[index])

export function placeholder<Given>(fill: (given: Given) => unknown): RawBuilder<never> {
  return sql<never>`${new Placeholder(fill)}`
}

/** The id of the record that a statement is about. */
export const ID = placeholder<{ id: number }>(({ id }) => id)
/** What the reach of a statement binds. */
export const REACH = reachValues<{ reach: Reach }>(({ reach }) => reach)

/**
 * Compiles the statement of each key once, because building SQL costs more than running it. All parameters are
 * placeholders, so one builder determines both the text and the order of the bound values. A builder that binds an
 * actual value throws: the value would be reused by every later execution. `finish` changes a compiled statement.
 */
export function createStatementCache<Given>(finish = (statement: Statement): Statement => statement) {
  const compiled = new Memo<{ statement: Statement; holes: Placeholder[] }>(MAX_STATEMENTS)
  const prepare = (build: () => { compile(): CompiledQuery }) => {
    const { sql: text, parameters } = build().compile()
    const holes = parameters.map((parameter) => {
      if (parameter instanceof Placeholder) return parameter
      throw new Error(`A cached statement binds a value: ${text}`)
    })
    return { statement: finish({ sql: text, parameters }), holes }
  }
  return (key: string, given: Given, build: () => { compile(): CompiledQuery }): Statement => {
    const { statement, holes } = compiled.getOrCompute(key, () => prepare(build))
    return { ...statement, parameters: holes.map(({ fill }) => fill(given as never)) }
  }
}
