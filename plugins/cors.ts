import cors from '@fastify/cors'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { allowedOrigins } from '../src/config.ts'

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE']
/** What a page may send, and see of an answer. */
const SENT = ['authorization', 'content-type', 'idempotency-key', 'if-match', 'if-none-match', 'last-event-id']
const SEEN = ['etag', 'retry-after', 'idempotency-replayed', 'content-disposition']
/** How long a browser remembers that it may ask, in seconds. */
const REMEMBERED = 600

/** Lets pages of some origins call with a token. Never with a cookie: that would be the person's, not the page's. */
async function crossOrigin(app: FastifyInstance) {
  const origins = allowedOrigins(app.config)
  if (origins.length === 0) return
  await app.register(cors, {
    origin: (origin, done) => done(null, origins.includes(origin ?? '')),
    credentials: false,
    methods: METHODS,
    allowedHeaders: SENT,
    exposedHeaders: SEEN,
    maxAge: REMEMBERED,
    // What is no question of a browser is answered like any other request.
    strictPreflight: false,
  })
}

export default fp(crossOrigin, { name: 'cors', dependencies: ['errors', 'security'] })
