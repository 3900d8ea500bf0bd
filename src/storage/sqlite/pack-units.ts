import type { Step, Unit } from '../storage.ts'

/** Units as they are sent to the writer: each SQL text once, however many steps use it. */
export interface PackedUnits {
  texts: string[]
  units: PackedUnit[]
}

/** Only what SQLite's writer uses: `locks` and `deletesRecords` are for PostgreSQL. */
type PackedStep = [text: number, parameters: readonly unknown[], must?: true]

interface PackedUnit extends Omit<Unit, 'steps'> {
  steps: PackedStep[]
}

export function packUnits(units: Unit[]): PackedUnits {
  const numbers = new Map<string, number>()
  const packStep = ({ sql, parameters, must }: Step): PackedStep => {
    const number = numbers.get(sql) ?? numbers.size
    numbers.set(sql, number)
    return must ? [number, parameters, must] : [number, parameters]
  }
  const packed = units.map(({ steps, ...rest }) => ({ ...rest, steps: steps.map(packStep) }))
  return { texts: [...numbers.keys()], units: packed }
}

export function unpackUnits({ texts, units }: PackedUnits): Unit[] {
  const unpackStep = ([text, parameters, must]: PackedStep): Step => ({
    sql: texts[text] as string,
    parameters,
    ...(must && { must }),
  })
  return units.map(({ steps, ...rest }) => ({ ...rest, steps: steps.map(unpackStep) }))
}
