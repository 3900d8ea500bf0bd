import type { Row, Statement, Step } from '../storage.ts'
import { DEFER, HOLD, lockRow } from './transaction.ts'

/** What is sent in one go for some steps: what each of them needs around it, and what comes before all. */
export class Script {
  readonly statements: Statement[]
  /** where each step is, and where what belongs to it ends */
  readonly #steps: { at: number; end: number }[] = []
  readonly #first: number

  constructor(before: Statement[] = []) {
    this.statements = before
    this.#first = before.length
  }

  add(step: Step): void {
    const [before, after] = around(step)
    const from = this.statements.length
    this.statements.push(...before, step, ...after)
    this.#steps.push({ at: from + before.length, end: this.statements.length })
  }

  /** Whether a statement comes before all steps. */
  isBefore(nth: number): boolean {
    return nth < this.#first
  }

  /** What each step has returned that was carried out, with what belongs to it. */
  rowsOf(results: Row[][]): Row[][] {
    return this.#steps.filter(({ end }) => end <= results.length).map(({ at }) => results[at] as Row[])
  }
}

/** What a delete takes along may be in its way until all of it is gone: references are looked at right after it. */
function around(step: Step): [Statement[], Statement[]] {
  if (step.locks) return [[lockRow(step.locks)], []]
  return step.deletesRecords ? [[DEFER], [HOLD]] : [[], []]
}
