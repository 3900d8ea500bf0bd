import { Failure } from '../errors.ts'

/** Throws VALIDATION_FAILED if there are errors; its message has one phrase per field. */
export function throwIfInvalid(errors: Record<string, string>): void {
  const sentences = Object.entries(errors).map(([name, message]) => `${name} ${message}`)
  if (sentences.length > 0) throw new Failure('VALIDATION_FAILED', `${sentences.join('; ')}.`, { errors })
}
