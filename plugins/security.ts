import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { Failure } from '../src/errors.ts'

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
const STAY_SECURE = 'max-age=31536000; includeSubDomains'

const SAFE_METHODS = ['GET', 'HEAD', 'OPTIONS']

/** What keeps other sites' pages from acting with a user's cookie, and browsers from guessing. */
async function security(app: FastifyInstance) {
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(HEADERS)
    if (request.protocol === 'https') reply.header('strict-transport-security', STAY_SECURE)
    if (!isCrossSite(request) || !mayChange(request)) return done()
    request.trail('cross-site request refused')
    done(new Failure('FORBIDDEN', 'This request was made by a page of another site.'))
  })
}

const mayChange = ({ method, routeOptions }: FastifyRequest) =>
  !SAFE_METHODS.includes(method) || routeOptions.config.changes

/** Browsers say where a request comes from; other clients send neither header. */
function isCrossSite({ headers, host }: FastifyRequest): boolean {
  if (headers['sec-fetch-site'] === 'cross-site') return true
  return headers.origin !== undefined && URL.parse(headers.origin)?.host !== host
}

export default fp(security, { name: 'security', dependencies: ['trail'] })
