import type { Handed, HandedAll, Row, Statement } from './storage.ts'

/** What earlier steps of a unit hand to later ones. */

export const isHanded = (value: unknown): value is Handed | HandedAll => typeof value === 'object' && value !== null

/** A statement with what earlier steps hand to it. */
export function filledIn<Step extends Statement>(step: Step, earlier: Row[][]): Step {
  if (earlier.length === 0) return step
  return { ...step, parameters: step.parameters.map((value) => (isHanded(value) ? handed(value, earlier) : value)) }
}

const handed = (value: Handed | HandedAll, earlier: Row[][]): unknown =>
  'all' in value ? JSON.stringify(earlier) : earlier[value.step]?.[0]?.[value.column]
