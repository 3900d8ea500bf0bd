import type { Operation } from '../model/access.ts'
import type { MaybePromise, Row, Step, StepRef, StorageFault, Unit } from '../storage/storage.ts'

/** A validated change that has not been written yet. */
export interface PlannedWrite<Result = unknown> {
  unit: Unit
  /** Builds the result from the rows of the unit's steps; if no row was written, throws the reason. */
  toResult(rows: Row[][]): MaybePromise<Result>
  /** Translates a storage fault into an error that names the model and its fields. */
  explain(fault: StorageFault): Promise<Error>
}

/** The record that a write looks for; used to explain why no row matched. */
export interface WriteTarget {
  id: number
  version: number
  operation: Operation
}

/** Whether a fault says that what was written is not allowed: the step that checks it has found no row. */
export const isRefusedOutcome = ({ kind, details }: StorageFault, steps: readonly Step[]): boolean =>
  kind === 'no-row' && steps[details.step ?? -1]?.isOutcome === true

/** Stands for a parameter: a column of the record that an earlier change of the same transaction writes. */
export interface ChangeRef {
  /** index of the change */
  ofChange: number
  column: string
}

/** Several changes as one unit. */
export interface JoinedWrites {
  steps: Step[]
  /** The index of the change that a step belongs to; undefined for steps that were added later. */
  changeAt(step: number | undefined): number | undefined
  /** The rows of one change. */
  rowsOf(rows: Row[][], change: number): Row[][]
}

/** Joins the steps of changes. What a step refers to by its number is found at its new place. */
export function joinWrites(planned: PlannedWrite[]): JoinedWrites {
  const starts: number[] = []
  const owners: number[] = []
  for (const [change, { unit }] of planned.entries()) {
    starts.push(owners.length)
    for (const _ of unit.steps) owners.push(change)
  }
  const moved = (value: unknown, change: number): unknown => {
    if (typeof value !== 'object' || value === null) return value
    if ('ofChange' in value) {
      const { ofChange, column } = value as ChangeRef
      return { step: starts[ofChange] as number, column }
    }
    const { step, column } = value as StepRef
    return { step: step + (starts[change] as number), column }
  }
  const steps = planned.flatMap(({ unit }, change) =>
    unit.steps.map(
      (step): Step => ({ ...step, parameters: step.parameters.map((value) => moved(value, change)), must: true }),
    ),
  )
  return {
    steps,
    changeAt: (step) => (step === undefined ? undefined : owners[step]),
    rowsOf: (rows, change) => rows.slice(starts[change], starts[change + 1] ?? owners.length),
  }
}
