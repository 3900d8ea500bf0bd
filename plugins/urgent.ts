import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** answered at once, even when others wait or are turned away */
    always?: boolean
  }
  interface FastifyInstance {
    isUrgent(request: IncomingMessage): boolean
    /** whether a request may take as long as it needs to arrive */
    isStreamed(request: IncomingMessage): boolean
  }
}

/** Knows which routes are answered at once, and which read bodies of any length. Who waits and who is turned away, `src/http/turns.ts` decides. */
async function urgent(app: FastifyInstance) {
  const addresses = new Set<string>()
  const streamed = new Set<string>()
  app.decorate('isUrgent', ({ method, url = '' }) => method === 'GET' && addresses.has(url))
  app.decorate('isStreamed', ({ method, url = '' }) => method === 'POST' && streamed.has(url.split('?')[0] as string))
  app.addHook('onRoute', ({ url, config }) => {
    if (config?.always) addresses.add(url)
    if (config?.streamed) streamed.add(url)
  })
}

export default fp(urgent, { name: 'urgent', dependencies: ['errors'] })
