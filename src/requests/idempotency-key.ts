import { badRequest } from './query.ts'

/** Printable ASCII. */
const KEY = /^[\x20-\x7e]{1,255}$/

/** The `Idempotency-Key` of a request; undefined without one. */
export function parseIdempotencyKey(headers: Record<string, unknown>): string | undefined {
  const key = headers['idempotency-key']
  if (key === undefined) return undefined
  if (KEY.test(String(key))) return String(key)
  throw badRequest('The header "Idempotency-Key" must have 1 to 255 printable characters.')
}
