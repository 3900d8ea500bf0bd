import { CompiledQuery } from 'kysely'
import { Memo } from '../memo.ts'

/** Shapes of statements kept; a model's clients use a handful. */
const MAX_SHAPES = 200

/** Compiles each shape of statement once: putting SQL together costs more than running it. */
export function compiledOnce() {
  const shapes = new Memo<CompiledQuery>(MAX_SHAPES)
  return (shape: string, build: () => { compile(): CompiledQuery }): CompiledQuery =>
    // The text alone: what it was compiled from holds a record's values.
    shapes.of(shape, () => CompiledQuery.raw(build().compile().sql))
}
