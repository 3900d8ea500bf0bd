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

  // Apart, so that its own hook, which looks up each route's options, applies to none of them.
  let loop!: FastifyInstance
  app.register(async (apart) => {
    await apart.register(underPressure, { maxEventLoopDelay: MAX_DELAY_MS, sampleInterval: SAMPLE_MS })
    loop = apart
  })

  app.addHook('onRequest', (request, _reply, done) => {
    if (!loop.isUnderPressure() || Date.now() < calmUntil || request.routeOptions.config.always) return done()
    app.metrics.turnedAway()
    done(OVERLOADED)
  })
}

export default fp(pressure, { name: 'pressure', dependencies: ['errors'] })
