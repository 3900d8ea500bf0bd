import { DatabaseError, type FaultDetails, Refused, StorageFault } from './storage.ts'

/**
 * An error as a plain value, for messages between threads. Messages are JSON texts, which cost half as much to send as
 * objects.
 */
export type SerializedError =
  | { kind: 'fault'; fault: StorageFault['kind']; message: string; details: FaultDetails }
  | { kind: 'refused'; reasons: string[] }
  | { kind: 'database'; message: string }
  | { kind: 'other'; message: string; stack: string | undefined; code: string | undefined }

export function serializeError(error: unknown): SerializedError {
  if (error instanceof StorageFault) {
    const { kind: fault, message, details } = error
    return { kind: 'fault', fault, message, details }
  }
  if (error instanceof Refused) return { kind: 'refused', reasons: error.reasons }
  if (error instanceof DatabaseError) return { kind: 'database', message: error.message }
  const { message, stack, code } = error as Error & { code?: string }
  return { kind: 'other', message, stack, code }
}

export function deserializeError(trouble: SerializedError): Error {
  if (trouble.kind === 'fault') return new StorageFault(trouble.fault, trouble.message, trouble.details)
  if (trouble.kind === 'refused') return new Refused(trouble.reasons)
  if (trouble.kind === 'database') return new DatabaseError(trouble.message)
  const { message, stack, code } = trouble
  return Object.assign(new Error(message), { stack, code })
}
