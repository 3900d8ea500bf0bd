import type { PriorRowsRef, Row, Statement, StepRef } from './storage.ts'

/** Parameters of a step that refer to the results of earlier steps of the unit. */

export const isStepRef = (value: unknown): value is StepRef | PriorRowsRef =>
  typeof value === 'object' && value !== null

/** Replaces the references among a step's parameters with the results of earlier steps. */
export function resolveRefs<Step extends Statement>(step: Step, earlier: Row[][]): Step {
  if (earlier.length === 0) return step
  return {
    ...step,
    parameters: step.parameters.map((value) => (isStepRef(value) ? resolveRef(value, earlier) : value)),
  }
}

const resolveRef = (value: StepRef | PriorRowsRef, earlier: Row[][]): unknown =>
  'all' in value ? priorRows(value, earlier) : earlier[value.step]?.[0]?.[value.column]

function priorRows({ stubs, stubsIfLong, longest }: PriorRowsRef, earlier: Row[][]): string {
  const text = JSON.stringify(withStubs(earlier, stubs))
  return text.length <= longest ? text : JSON.stringify(withStubs(earlier, [...stubs, ...stubsIfLong]))
}

const withStubs = (results: Row[][], stubs: number[]) =>
  results.map((rows, step) => (stubs.includes(step) ? rows.map(({ id, version }) => ({ id, version })) : rows))
