import type { Operation } from '../model/access.ts'
import type { MaybePromise, Row, Step, StepRef, StorageFault, Unit } from '../storage/storage.ts'

/** A validated write that has not been executed yet. */
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

/** Stands for a parameter: a column of the record that an earlier write of the same transaction stores. */
export interface WriteRef {
  /** index of the write */
  ofWrite: number
  column: string
}

/** Several writes as one unit. */
export interface JoinedWrites {
  steps: Step[]
  /** The index of the write that a step belongs to; undefined for steps that were added later. */
  writeIndexOf(step: number | undefined): number | undefined
  /** The rows of one write. */
  rowsOf(rows: Row[][], write: number): Row[][]
}

/**
 * Joins the steps of writes. References to steps get the new step numbers. The reach checks move to the end, when all
 * records have been written.
 */
export function joinWrites(planned: PlannedWrite[]): JoinedWrites {
  const all = planned.flatMap(({ unit }, write) => unit.steps.map((step, place) => ({ step, write, place })))
  const placed = [...all.filter(({ step }) => !step.isReachCheck), ...all.filter(({ step }) => step.isReachCheck)]
  const placeOf = new Map(placed.map(({ write, place }, index) => [`${write} ${place}`, index]))
  const relocateReference = (value: unknown, write: number): unknown => {
    if (typeof value !== 'object' || value === null) return value
    const { ofWrite = write, step = 0, column } = value as Partial<WriteRef & StepRef>
    return { step: placeOf.get(`${ofWrite} ${step}`) as number, column }
  }
  const steps = placed.map(
    ({ step, write }): Step => ({
      ...step,
      parameters: step.parameters.map((value) => relocateReference(value, write)),
      mustReturnRow: true,
    }),
  )
  const owners = placed.map(({ write }) => write)
  const placesOf = Map.groupBy(owners.keys(), (place) => owners[place])
  return {
    steps,
    writeIndexOf: (step) => (step === undefined ? undefined : owners[step]),
    rowsOf: (rows, write) => (placesOf.get(write) as number[]).map((place) => rows[place] as Row[]),
  }
}
