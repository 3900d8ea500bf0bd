import { Failure } from '../errors.ts'

/** Refuses what breaks rules, with a sentence for each field. */
export function refuseFaults(errors: Record<string, string>): void {
  const sentences = Object.entries(errors).map(([name, message]) => `${name} ${message}`)
  if (sentences.length > 0) throw new Failure('VALIDATION_FAILED', `${sentences.join('; ')}.`, { errors })
}
