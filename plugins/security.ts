import helmet from '@fastify/helmet'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { Failure } from '../src/errors.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** a GET that changes something */
    changes?: boolean
  }
}

const SAFE_METHODS = ['GET', 'HEAD', 'OPTIONS']

/** What keeps other sites' pages from acting with a user's cookie, and browsers from guessing. */
async function security(app: FastifyInstance) {
  await app.register(helmet, {
    // There are no pages here: nothing may be loaded, framed or kept.
    contentSecurityPolicy: { useDefaults: false, directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] } },
  })

  app.addHook('onRequest', async (request, reply) => {
    reply.header('cache-control', 'no-store')
    const changes = !SAFE_METHODS.includes(request.method) || request.routeOptions.config.changes
    if (!changes || !isCrossSite(request)) return
    request.audit('cross-site request refused')
    throw new Failure('FORBIDDEN', 'This request was made by a page of another site.')
  })
}

/** Browsers say where a request comes from; other clients send neither header. */
function isCrossSite({ headers, host }: FastifyRequest): boolean {
  if (headers['sec-fetch-site'] === 'cross-site') return true
  return headers.origin !== undefined && URL.parse(headers.origin)?.host !== host
}

export default fp(security, { name: 'security', dependencies: ['audit'] })
