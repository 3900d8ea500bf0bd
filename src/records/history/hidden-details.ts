import { type Code, Failure } from '../../errors.ts'
import type { Model } from '../../model/model.ts'
import type { PlannedWrite } from '../planned-write.ts'

/** Failures that tell what a record is, or by which fields it cannot be written. */
const TELLING: readonly Code[] = ['VERSION_CONFLICT', 'NOT_UNIQUE', 'REFERENCE_VIOLATION', 'VALIDATION_FAILED']

/**
 * The failure of a change that is made with all fields of a record, for a user who does not see all of them: it tells
 * nothing of the record.
 */
export function withoutDetails(error: unknown, visible: Model, id: number): unknown {
  const isTelling = visible.unrestricted && error instanceof Failure && TELLING.includes(error.code)
  if (!isTelling) return error
  const what = `${visible.name} ${id}`
  return new Failure(
    error.code,
    error.code === 'VERSION_CONFLICT'
      ? `${what} has changed since.`
      : `${what} cannot be written as it was: a field that you may not read may be in the way.`,
  )
}

/** A change whose failures tell nothing of fields that the user does not see. */
export const hideDetails = (write: PlannedWrite, visible: Model, id: number): PlannedWrite => ({
  ...write,
  toResult: async (rows) => {
    try {
      return await write.toResult(rows)
    } catch (error) {
      throw withoutDetails(error, visible, id)
    }
  },
  explain: async (fault) => withoutDetails(await write.explain(fault), visible, id) as Error,
})
