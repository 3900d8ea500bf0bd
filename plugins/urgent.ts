import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** whether the route is answered at once, even under overload */
    urgent?: boolean
    /** whether the body is a long upload that the route reads itself, with its own `Idempotency-Key` */
    streamed?: boolean
  }
  interface FastifyInstance {
    isUrgent(request: IncomingMessage): boolean
    /** Whether the request is an upload, whose body has a longer timeout. */
    isStreamed(request: IncomingMessage): boolean
  }
}

/**
 * Collects the routes that are answered at once, and those that stream their bodies. `src/http/turns.ts` decides which
 * requests wait and which are refused.
 */
async function urgent(app: FastifyInstance) {
  const addresses = new Set<string>()
  const streamed = new Set<string>()
  app.decorate('isUrgent', ({ method, url = '' }) => method === 'GET' && addresses.has(url))
  app.decorate('isStreamed', ({ method, url = '' }) => method === 'POST' && streamed.has(url.split('?')[0] as string))
  app.addHook('onRoute', ({ url, config }) => {
    if (config?.urgent) addresses.add(url)
    if (config?.streamed) streamed.add(url)
  })
}

export default fp(urgent, { name: 'urgent', dependencies: ['errors'] })
