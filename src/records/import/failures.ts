import { Failure, MAX_FAULTS } from '../../errors.ts'
import { StorageFault } from '../../storage/storage.ts'

/** What was done with the rows of a file. */
export interface Imported {
  created: number
  updated: number
  unchanged: number
}

/** How far it has come: the number of the last row that was dealt with. */
export interface ImportProgress extends Imported {
  row: number
  isOver: boolean
}

export const importCounts = ({ created, updated, unchanged }: Imported): Imported => ({ created, updated, unchanged })

/** What is wrong with a file. */
export function refused(errors: Record<string, string>, done: ImportProgress): Failure {
  const names = Object.keys(errors)
  const many = names.length === 1 ? 'There is one fault' : `There are ${names.length} faults`
  const some = names.length === MAX_FAULTS ? `The first ${MAX_FAULTS} faults are listed` : many
  const nothing = done.row === 0 ? 'Nothing was written.' : `Nothing was written but the ${done.row} rows of before.`
  return new Failure('VALIDATION_FAILED', `${nothing} ${some}, by line and field.`, { errors })
}

/** What is wrong with one row says in which line. */
export function ofLine(line: number, error: unknown): unknown {
  if (!(error instanceof Failure)) return error
  const { errors = {}, ...others } = error.details
  const named = Object.fromEntries(Object.entries(errors).map(([name, why]) => [`${line}.${name}`, why]))
  return new Failure(error.code, `Line ${line}: ${error.message}`, { ...others, errors: named })
}

/** What came in between, and what had been written by then. */
export function interrupted(error: unknown, done: ImportProgress): unknown {
  const isFault = error instanceof StorageFault
  if (!isFault && !(error instanceof Failure)) return error
  const code = !isFault ? error.code : error.kind === 'full' ? 'STORAGE_FULL' : 'UNAVAILABLE'
  const { message } = error
  const sofar = `Until then ${done.created} records were created and ${done.updated} updated. With an Idempotency-Key it can be sent again, and goes on from there.`
  return new Failure(code, `${message} ${sofar}`, { ...(!isFault && error.details), data: [importCounts(done)] })
}
