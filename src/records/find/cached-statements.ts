import { type CompiledQuery, type RawBuilder, sql } from 'kysely'
import { Memo } from '../../lib/memo.ts'
import type { Statement } from '../../storage/storage.ts'

/** Shapes of statements kept; a model's clients use a handful. */
const MAX_SHAPES = 200

/** In the place of a value: how to get it from what the statement is used with. */
class Placeholder {
  readonly fill: (given: never) => unknown

  constructor(fill: (given: never) => unknown) {
    this.fill = fill
  }
}

export function placeholder<Given>(fill: (given: Given) => unknown): RawBuilder<never> {
  return sql<never>`${new Placeholder(fill)}`
}

/**
 * Compiles each shape of statement once: putting SQL together costs more than running it. Its parameters are holes, so
 * that the text and the order of what is bound come from one place; a value that would be remembered with it is refused.
 */
export function cachedStatements<Given>() {
  const shapes = new Memo<{ text: string; holes: Placeholder[] }>(MAX_SHAPES)
  const prepare = (build: () => { compile(): CompiledQuery }) => {
    const { sql: text, parameters } = build().compile()
    const holes = parameters.map((parameter) => {
      if (parameter instanceof Placeholder) return parameter
      throw new Error(`A remembered statement binds a value: ${text}`)
    })
    return { text, holes }
  }
  return (shape: string, given: Given, build: () => { compile(): CompiledQuery }): Statement => {
    const { text, holes } = shapes.of(shape, () => prepare(build))
    return { sql: text, parameters: holes.map(({ fill }) => fill(given as never)) }
  }
}
