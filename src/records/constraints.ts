import { Failure } from '../errors.ts'
import type { Model } from '../model/model.ts'

/** A constraint that SQLite found broken, in the words of the model; undefined for any other error. */
export function constraintFailure(error: unknown, model: Model): Failure | undefined {
  const { code, message } = error as { code?: string; message: string }
  if (code !== 'SQLITE_CONSTRAINT_UNIQUE') return undefined
  // "UNIQUE constraint failed: contacts__Contact.email, contacts__Contact.company"
  const fields = [...message.matchAll(/\.(\w+)/g)].map(([, name]) => name as string)
  const reason = fields.length > 1 ? `the combination of ${fields.join(' and ')} is taken` : 'is taken'
  return new Failure(
    'NOT_UNIQUE',
    `Another ${model.name} has the same ${fields.join(' and ')}. Choose another value.`,
    { errors: Object.fromEntries(fields.map((name) => [name, reason])) },
  )
}
