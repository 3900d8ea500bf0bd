import type { Row, Statement, Step } from '../storage.ts'
import { CHECK_CONSTRAINTS, DEFER_CONSTRAINTS, lockRow } from './transaction.ts'

/**
 * The statements of one pipeline: those before all steps, then each step with the statements that it needs around it.
 */
export class Pipeline {
  readonly statements: Statement[]
  /** index of each step's statement, and of the end of its surrounding statements */
  readonly #steps: { at: number; end: number }[] = []
  readonly #first: number

  constructor(before: Statement[] = []) {
    this.statements = before
    this.#first = before.length
  }

  add(step: Step): void {
    const [before, after] = surroundingStatements(step)
    const from = this.statements.length
    this.statements.push(...before, step, ...after)
    this.#steps.push({ at: from + before.length, end: this.statements.length })
  }

  /** Whether the statement at an index comes before all steps. */
  isBefore(nth: number): boolean {
    return nth < this.#first
  }

  /** The rows of each step that was executed completely, including the statements around it. */
  rowsOf(results: Row[][]): Row[][] {
    return this.#steps.filter(({ end }) => end <= results.length).map(({ at }) => results[at] as Row[])
  }
}

/**
 * Statements before and after a step. References are checked right after a delete instead of during it: records that it
 * also deletes may refer to each other until all of them are gone.
 */
function surroundingStatements(step: Step): [Statement[], Statement[]] {
  if (step.locks) return [[lockRow(step.locks)], []]
  return step.deletesRecords ? [[DEFER_CONSTRAINTS], [CHECK_CONSTRAINTS]] : [[], []]
}
