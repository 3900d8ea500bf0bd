import { Failure, MAX_FAULTS } from '../../errors.ts'
import { StorageFault } from '../../storage/storage.ts'

/** How many rows of a file were created, updated or left unchanged. */
export interface ImportCounts {
  created: number
  updated: number
  unchanged: number
}

/** Progress of an import; `row` is the number of the last row that was processed. */
export interface ImportProgress extends ImportCounts {
  row: number
  isOver: boolean
}

export const importCounts = ({ created, updated, unchanged }: ImportCounts): ImportCounts => ({
  created,
  updated,
  unchanged,
})

/** The failure that lists the faults of a file. */
export function importRefusedFailure(errors: Record<string, string>, done: ImportProgress): Failure {
  const names = Object.keys(errors)
  const many = names.length === 1 ? 'There is one fault' : `There are ${names.length} faults`
  const some = names.length === MAX_FAULTS ? `The first ${MAX_FAULTS} faults are listed` : many
  const nothing = done.row === 0 ? 'Nothing was written.' : `Nothing was written but the ${done.row} rows of before.`
  return new Failure('VALIDATION_FAILED', `${nothing} ${some}, by line and field.`, { errors })
}

/** Adds the line to the failure of one row. */
export function withLine(line: number, error: unknown): unknown {
  if (!(error instanceof Failure)) return error
  const { errors = {}, ...others } = error.details
  const named = Object.fromEntries(Object.entries(errors).map(([name, why]) => [`${line}.${name}`, why]))
  return new Failure(error.code, `Line ${line}: ${error.message}`, { ...others, errors: named })
}

/** Adds to the error that ended an import how much had been written by then. */
export function importInterrupted(error: unknown, done: ImportProgress): unknown {
  const isFault = error instanceof StorageFault
  if (!isFault && !(error instanceof Failure)) return error
  const code = !isFault ? error.code : error.kind === 'full' ? 'STORAGE_FULL' : 'UNAVAILABLE'
  const { message } = error
  const sofar = `Until then ${done.created} records were created and ${done.updated} updated. With an Idempotency-Key it can be sent again, and goes on from there.`
  return new Failure(code, `${message} ${sofar}`, { ...(!isFault && error.details), data: [importCounts(done)] })
}
