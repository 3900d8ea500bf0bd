import type { IncomingMessage } from 'node:http'
import { LARGE_BODY } from '../requests/body-limits.ts'

/** Find, search, read, create, update and delete of records. */
const RECORDS = /^\/ws\/rest\/[^/?]+(?:\/(?:\d+|search))?(?:\?|$)/
const METHODS = new Set(['GET', 'PUT', 'POST', 'DELETE'])
/**
 * A read of an earlier version: one user's run one after the other, in the whole process. Letters of the name may be escaped;
 * brackets, as many clients escape them, are none.
 */
const VERSION = /[?&](?:version=|[^=&]*%[67])/

const SAVE = /^\/ws\/rest\/[^/?]+(?:\?|$)/

type RequestHead = Pick<IncomingMessage, 'method' | 'url' | 'headers'>

/**
 * Whether any serving thread may answer a request. All others have limits or state that the process keeps in one
 * place (logins, streams, imports, large bodies, idempotency keys): they are forwarded to the main thread.
 */
export function isServedHere(request: RequestHead): boolean {
  const { method, url, headers } = request as Required<RequestHead>
  if (!RECORDS.test(url) || !METHODS.has(method) || headers['idempotency-key'] !== undefined) return false
  // What is packed may be large.
  if (headers['content-encoding'] !== undefined) return false
  if (method === 'GET') return !VERSION.test(url)
  // Several records at once, as in a batch.
  if (method === 'POST' && SAVE.test(url)) return false
  return headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) <= LARGE_BODY
}
