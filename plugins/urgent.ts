import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** answered at once, even when others wait or are turned away */
    always?: boolean
    /** goes on until somebody ends it: nothing waits for it */
    lasting?: boolean
  }
  interface FastifyInstance {
    isUrgent(request: IncomingMessage): boolean
    isLasting(request: IncomingMessage): boolean
  }
}

/** Knows which routes are answered at once, and which are never answered to the end. Who waits and who is turned away, `src/http/turns.ts` decides. */
async function urgent(app: FastifyInstance) {
  const addresses = new Set<string>()
  const lasting = new Set<string>()
  app.decorate('isUrgent', ({ method, url = '' }) => method === 'GET' && addresses.has(url))
  app.decorate('isLasting', ({ method, url = '' }) => method === 'GET' && lasting.has(url.split('?')[0] as string))
  app.addHook('onRoute', ({ url, config }) => {
    if (config?.always) addresses.add(url)
    if (config?.lasting) lasting.add(url)
  })
}

export default fp(urgent, { name: 'urgent', dependencies: ['errors'] })
