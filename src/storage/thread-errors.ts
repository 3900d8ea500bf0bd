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

export function deserializeError(serialized: SerializedError): Error {
  if (serialized.kind === 'fault') return new StorageFault(serialized.fault, serialized.message, serialized.details)
  if (serialized.kind === 'refused') return new Refused(serialized.reasons)
  if (serialized.kind === 'database') return new DatabaseError(serialized.message)
  const { message, stack, code } = serialized
  return Object.assign(new Error(message), { stack, code })
}
