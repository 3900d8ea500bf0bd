import type { IncomingHttpHeaders } from 'node:http'

/**
 * The token in `Authorization` or, for clients of other systems, in `API-KEY`; undefined without one. If there is one,
 * the session cookie is ignored.
 */
export function parseBearerToken({ authorization, 'api-key': key }: IncomingHttpHeaders): string | undefined {
  const token = /^bearer +(\S{1,500}) *$/i.exec(authorization ?? '')?.[1]
  return token ?? /^\S{1,500}$/.exec(String(key ?? ''))?.[0]
}
