import cors from '@fastify/cors'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { allowedOrigins } from '../src/config.ts'

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'QUERY']
/** Request headers that a page may send, and response headers that it may read. */
const SENT = [
  'api-key',
  'authorization',
  'content-type',
  'idempotency-key',
  'if-match',
  'if-none-match',
  'last-event-id',
  'prefer',
]
const SEEN = [
  'etag',
  'link',
  'location',
  'preference-applied',
  'retry-after',
  'idempotency-replayed',
  'content-disposition',
]
/** How long a browser may cache a preflight, in seconds. */
const REMEMBERED = 600

/** Lets pages of configured origins call with a token, but not with the cookie: then they could act as the user. */
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
    // In strict mode the library answers an incomplete preflight with 400 and plain text, outside our error format.
    strictPreflight: false,
  })
}

export default fp(crossOrigin, { name: 'cors', dependencies: ['errors', 'security'] })
