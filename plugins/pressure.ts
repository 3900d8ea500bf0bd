import underPressure from '@fastify/under-pressure'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { Failure } from '../src/errors.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** answered even when others are turned away */
    always?: boolean
  }
}

/** A request that waits this long for its turn had better come back later. */
const MAX_DELAY_MS = 500
/** The mean over this time counts: one long turn, as when models are loaded, is no overload. */
const SAMPLE_MS = 1000

/** Turns requests away before the event loop drowns in them. */
async function pressure(app: FastifyInstance) {
  await app.register(underPressure, {
    maxEventLoopDelay: MAX_DELAY_MS,
    sampleInterval: SAMPLE_MS,
    pressureHandler: (request) => {
      if (request.routeOptions.config.always) return
      app.metrics.shed()
      throw new Failure('UNAVAILABLE', 'There is more to do than can be done. Try again in a moment.', {
        headers: { 'retry-after': '1' },
      })
    },
  })
}

export default fp(pressure, { name: 'pressure', dependencies: ['errors'] })
