import type { Step, Unit } from '../storage.ts'

/** Units as they are sent to the writer: each SQL text once, however many steps use it. */
export interface PackedUnits {
  texts: string[]
  units: PackedUnit[]
}

/**
 * Only what SQLite's writer uses: `locks`, `deletesRecords` and `readsRecords` are for PostgreSQL, `isReachCheck` and
 * `returns` for the code that made the unit.
 */
type PackedStep = [text: number, parameters: readonly unknown[], mustReturnRow?: true]

interface PackedUnit extends Omit<Unit, 'steps'> {
  steps: PackedStep[]
}

export function packUnits(units: Unit[]): PackedUnits {
  const numbers = new Map<string, number>()
  const packStep = ({ sql, parameters, mustReturnRow }: Step): PackedStep => {
    const number = numbers.get(sql) ?? numbers.size
    numbers.set(sql, number)
    return mustReturnRow ? [number, parameters, mustReturnRow] : [number, parameters]
  }
  const packed = units.map(({ steps, ...rest }) => ({ ...rest, steps: steps.map(packStep) }))
  return { texts: [...numbers.keys()], units: packed }
}

export function unpackUnits({ texts, units }: PackedUnits): Unit[] {
  const unpackStep = ([text, parameters, mustReturnRow]: PackedStep): Step => ({
    sql: texts[text] as string,
    parameters,
    ...(mustReturnRow && { mustReturnRow }),
  })
  return units.map(({ steps, ...rest }) => ({ ...rest, steps: steps.map(unpackStep) }))
}
