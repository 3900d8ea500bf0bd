import { createHmac } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { IdempotentRequest } from '../src/journal/idempotency.ts'
import { parseIdempotencyKey } from '../src/requests/idempotency-key.ts'
import { mayChange } from '../src/requests/may-change.ts'
import { isMergePatch, MERGE_PATCH } from '../src/requests/merge-patch.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Keyed hash that tells whether two requests with one `Idempotency-Key` are the same. */
    hashOfRequest(...sent: unknown[]): string
  }
}

/** Headers that are part of the request's hash, beside method, URL and body. */
const HEADERS = ['if-match']

/** `Idempotency-Key`: a repeated request is not executed again. `request.user.idempotency` holds its state. */
async function idempotency(app: FastifyInstance) {
  const key = await app.storage.signingKey()
  // A request may contain a password. The key prevents guessing it from the stored hash.
  app.decorate('hashOfRequest', (...sent) => createHmac('sha256', key).update(JSON.stringify(sent)).digest('hex'))
  const requestHash = ({ method, url, headers, body }: FastifyRequest) =>
    app.hashOfRequest(
      method,
      url,
      HEADERS.map((name) => headers[name] ?? null),
      body ?? null,
      // Only where they matter, so that keys of before an upgrade are known after it.
      ...(headers['if-none-match'] === undefined ? [] : [headers['if-none-match']]),
      ...(isMergePatch(headers) ? [MERGE_PATCH] : []),
    )

  app.addHook('preHandler', (request, reply, done) => {
    const { method, user, headers, routeOptions } = request
    const isOurs = user && !routeOptions.config.streamed && mayChange(method, routeOptions.config)
    const key = isOurs ? parseIdempotencyKey(headers) : undefined
    if (key === undefined) return done()
    const { username } = user
    // Released also if the client disconnects early: the database then tells its retry whether the write was committed.
    request.whenClosed(app.limits.keys.claim({ username, key }))
    const tell = () => void reply.header('idempotency-replayed', 'true')
    IdempotentRequest.begin(app.storage, { username, key, hash: requestHash(request) }, tell).then((doing) => {
      request.user = { ...user, idempotency: doing }
      done()
    }, done)
  })
}

export default fp(idempotency, { name: 'idempotency', dependencies: ['auth', 'bodies', 'errors'] })
