import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { Failure } from '../src/errors.ts'
import { parseBearerToken } from '../src/requests/bearer.ts'
import { SAFE_METHODS } from '../src/requests/may-change.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** whether a GET route changes data */
    changes?: boolean
  }
}

/**
 * Helmet's headers for an API, whose answers are no pages: nothing may be loaded, framed, sniffed or cached. They are
 * constants: building them for each answer would cost more than reading the record.
 */
const HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none';frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
}

/** Value of HSTS, sent only over HTTPS: over plain HTTP an attacker could have inserted the header. */
const STAY_SECURE = 'max-age=31536000'

/** Security headers, and protection against cross-site request forgery (CSRF). */
async function security(app: FastifyInstance) {
  const { PUBLIC_URL, HSTS_SUBDOMAINS } = app.config
  const origin = PUBLIC_URL && new URL(PUBLIC_URL).origin
  const staySecure = STAY_SECURE + (HSTS_SUBDOMAINS ? '; includeSubDomains' : '')

  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(HEADERS)
    if (request.protocol === 'https') reply.header('strict-transport-security', staySecure)
    if (!isForeign(request, origin) || !isUnsafe(request) || hasToken(request)) return done()
    request.audit('cross-site request refused')
    done(new Failure('FORBIDDEN', 'This request was made by a page of another site.'))
  })
}

const isUnsafe = ({ method, routeOptions }: FastifyRequest) =>
  !SAFE_METHODS.includes(method) || routeOptions.config.changes

/** A page of another site cannot make a browser send a token. Public routes need none, so there it proves nothing. */
const hasToken = ({ headers, routeOptions }: FastifyRequest) =>
  !routeOptions.config.public && parseBearerToken(headers) !== undefined

/** Values of `Sec-Fetch-Site` for requests by the user or by a page of this origin. Pages cannot forge the header. */
const OWN_SITES = ['same-origin', 'none']

/**
 * Browsers send `Sec-Fetch-Site` or `Origin`; other clients send neither. `Sec-Fetch-Site` comes first, because a proxy
 * may have changed the host. Older browsers send only `Origin`, which is compared with the host.
 */
function isForeign({ headers, host }: FastifyRequest, publicOrigin: string | undefined): boolean {
  const { origin, 'sec-fetch-site': site } = headers
  if (origin !== undefined && origin === publicOrigin) return false
  if (site !== undefined) return !OWN_SITES.includes(site as string)
  return origin !== undefined && URL.parse(origin)?.host !== host
}

export default fp(security, { name: 'security', dependencies: ['audit-log'] })
