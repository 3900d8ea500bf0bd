import type { IncomingMessage } from 'node:http'
import underPressure from '@fastify/under-pressure'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { OVERLOADED } from '../src/errors.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** answered at once, even when others wait or are turned away */
    always?: boolean
  }
  interface FastifyInstance {
    isUrgent(request: IncomingMessage): boolean
  }
}

/** A request that waits this long for its turn had better come back later. */
const MAX_DELAY_MS = 500
/** The mean over this time counts: one long turn is no overload, and putting the app together is not either. */
const SAMPLE_MS = 1000

/** Turns requests away before the event loop drowns in them. */
async function pressure(app: FastifyInstance) {
  const urgent = new Set<string>()
  app.decorate('isUrgent', ({ method, url = '' }) => method === 'GET' && urgent.has(url))
  app.addHook('onRoute', ({ url, config }) => {
    if (config?.always) urgent.add(url)
  })

  let calmUntil = Number.POSITIVE_INFINITY
  app.addHook('onReady', async () => {
    calmUntil = Date.now() + 2 * SAMPLE_MS
  })

  await app.register(underPressure, {
    maxEventLoopDelay: MAX_DELAY_MS,
    sampleInterval: SAMPLE_MS,
    pressureHandler: (request) => {
      if (request.routeOptions.config.always || Date.now() < calmUntil) return
      app.metrics.turnedAway()
      throw OVERLOADED
    },
  })
}

export default fp(pressure, { name: 'pressure', dependencies: ['errors'] })
