import type { Handed, HandedAll, Row, Statement } from './storage.ts'

/** What earlier steps of a unit hand to later ones. */

export const isHanded = (value: unknown): value is Handed | HandedAll => typeof value === 'object' && value !== null

/** A statement with what earlier steps hand to it. */
export function filledIn<Step extends Statement>(step: Step, earlier: Row[][]): Step {
  if (earlier.length === 0) return step
  return { ...step, parameters: step.parameters.map((value) => (isHanded(value) ? handed(value, earlier) : value)) }
}

const handed = (value: Handed | HandedAll, earlier: Row[][]): unknown =>
  'all' in value ? allOf(value, earlier) : earlier[value.step]?.[0]?.[value.column]

function allOf({ stubs, stubsIfLong, longest }: HandedAll, earlier: Row[][]): string {
  const text = JSON.stringify(withStubs(earlier, stubs))
  return text.length <= longest ? text : JSON.stringify(withStubs(earlier, [...stubs, ...stubsIfLong]))
}

const withStubs = (results: Row[][], stubs: number[]) =>
  results.map((rows, step) => (stubs.includes(step) ? rows.map(({ id, version }) => ({ id, version })) : rows))
