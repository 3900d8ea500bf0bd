import type { IncomingMessage } from 'node:http'
import { LARGE_BODY } from '../http/body-limits.ts'

/** Find, search, read, create, update and delete of records. */
const RECORDS = /^\/ws\/rest\/[^/?]+(?:\/(?:\d+|search))?(?:\?|$)/
const METHODS = new Set(['GET', 'PUT', 'POST', 'DELETE'])
/**
 * Matches reads of an earlier version: those of one user run one after the other in the whole process. The letters of
 * `version` may be escaped, as `%6x` and `%7x`. Many clients escape brackets (`%5B`, `%5D`): these do not match.
 */
const VERSION = /[?&](?:version=|[^=&]*%[67])/

/** A save of several records at once, as clients of Axelor send it. */
const SAVE = /^\/ws\/rest\/[^/?]+(?:\?|$)/

type RequestHead = Pick<IncomingMessage, 'method' | 'url' | 'headers'>

/**
 * Whether any serving thread may answer a request. All others have limits or state that the process keeps in one
 * place (logins, streams, imports, large bodies, idempotency keys): they are forwarded to the main thread.
 */
export function isServedHere(request: RequestHead): boolean {
  const { method, url, headers } = request as Required<RequestHead>
  if (!RECORDS.test(url) || !METHODS.has(method) || headers['idempotency-key'] !== undefined) return false
  // A small compressed body may be a large one.
  if (headers['content-encoding'] !== undefined) return false
  if (method === 'GET') return !VERSION.test(url)
  if (method === 'POST' && SAVE.test(url)) return false
  return headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) <= LARGE_BODY
}
