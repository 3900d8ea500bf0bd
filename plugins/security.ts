import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { Failure } from '../src/errors.ts'
import { bearerIn } from '../src/requests/bearer.ts'
import { SAFE_METHODS } from '../src/requests/changing.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** a GET that changes something */
    changes?: boolean
  }
}

/**
 * There are no pages here: nothing may be loaded, framed, guessed at or kept. These are helmet's headers for an API; they
 * never change, and putting them together for each answer would cost more than reading the record.
 */
const HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none';frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
}

/** Only where the connection is a safe one already: over plain HTTP anybody could have put it there. */
const STAY_SECURE = 'max-age=31536000'

/** What keeps other sites' pages from acting with a user's cookie, and browsers from guessing. */
async function security(app: FastifyInstance) {
  const { PUBLIC_URL, HSTS_SUBDOMAINS } = app.config
  const origin = PUBLIC_URL && new URL(PUBLIC_URL).origin
  const staySecure = STAY_SECURE + (HSTS_SUBDOMAINS ? '; includeSubDomains' : '')

  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(HEADERS)
    if (request.protocol === 'https') reply.header('strict-transport-security', staySecure)
    if (!isForeign(request, origin) || !mayChange(request) || hasToken(request)) return done()
    request.trail('cross-site request refused')
    done(new Failure('FORBIDDEN', 'This request was made by a page of another site.'))
  })
}

const mayChange = ({ method, routeOptions }: FastifyRequest) =>
  !SAFE_METHODS.includes(method) || routeOptions.config.changes

/** No page can make a browser send a token: where one counts, the rule is of no use. */
const hasToken = ({ headers, routeOptions }: FastifyRequest) =>
  !routeOptions.config.public && bearerIn(headers.authorization) !== undefined

/** What a browser says itself of a request that a person, or a page of the same origin, has made. No page can forge it. */
const OWN_SITES = ['same-origin', 'none']

/**
 * Browsers say where a request comes from; other clients say nothing. What they say of the site is believed, for a proxy
 * may have changed the host; only older ones leave it to be found out by comparing.
 */
function isForeign({ headers, host }: FastifyRequest, publicOrigin: string | undefined): boolean {
  const { origin, 'sec-fetch-site': site } = headers
  if (origin !== undefined && origin === publicOrigin) return false
  if (site !== undefined) return !OWN_SITES.includes(site as string)
  return origin !== undefined && URL.parse(origin)?.host !== host
}

export default fp(security, { name: 'security', dependencies: ['trail'] })
