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

/** Whether the written record is outside the user's reach: the step that checks the reach has found no row. */
export const isBeyondReach = ({ kind, details }: StorageFault, steps: readonly Step[]): boolean =>
  kind === 'no-row' && steps[details.step as number]?.isReachCheck === true

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

/**
 * Joins the steps of changes. References to steps get the new step numbers. The reach checks move to the end, when all
 * records have been written.
 */
export function joinWrites(planned: PlannedWrite[]): JoinedWrites {
  const all = planned.flatMap(({ unit }, change) => unit.steps.map((step, place) => ({ step, change, place })))
  const placed = [...all.filter(({ step }) => !step.isReachCheck), ...all.filter(({ step }) => step.isReachCheck)]
  const placeOf = new Map(placed.map(({ change, place }, index) => [`${change} ${place}`, index]))
  const relocateReference = (value: unknown, change: number): unknown => {
    if (typeof value !== 'object' || value === null) return value
    const { ofChange = change, step = 0, column } = value as Partial<ChangeRef & StepRef>
    return { step: placeOf.get(`${ofChange} ${step}`) as number, column }
  }
  const steps = placed.map(
    ({ step, change }): Step => ({
      ...step,
      parameters: step.parameters.map((value) => relocateReference(value, change)),
      must: true,
    }),
  )
  const owners = placed.map(({ change }) => change)
  const placesOf = Map.groupBy(owners.keys(), (place) => owners[place])
  return {
    steps,
    changeAt: (step) => (step === undefined ? undefined : owners[step]),
    rowsOf: (rows, change) => (placesOf.get(change) as number[]).map((place) => rows[place] as Row[]),
  }
}
