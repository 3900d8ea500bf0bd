import { createHmac } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { IdempotentRequest } from '../src/journal/idempotency.ts'
import { mayChange } from '../src/requests/changing.ts'
import { keyIn } from '../src/requests/key.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** its body is not read as a whole: the route itself looks at the key */
    streamed?: boolean
  }
  interface FastifyInstance {
    /** by what a request is known again */
    hashOfRequest(...sent: unknown[]): string
  }
}

/** What a request depends on, beside who sends it, its address and its body. */
const HEADERS = ['if-match']

/** `Idempotency-Key`: what is sent again is not done again. Whoever writes something finds the key with the user. */
async function idempotency(app: FastifyInstance) {
  const secret = await app.storage.secret()
  // There may be a password in it: without the secret nobody finds out which by trying.
  app.decorate('hashOfRequest', (...sent) => createHmac('sha256', secret).update(JSON.stringify(sent)).digest('hex'))
  const requestHash = ({ method, url, headers, body }: FastifyRequest) =>
    app.hashOfRequest(
      method,
      url,
      HEADERS.map((name) => headers[name] ?? null),
      body ?? null,
    )

  app.addHook('preHandler', (request, reply, done) => {
    const { method, user, headers, routeOptions } = request
    const isOurs = user && !routeOptions.config.streamed && mayChange(method, routeOptions.config)
    const key = isOurs ? keyIn(headers) : undefined
    if (key === undefined) return done()
    const { username } = user
    // Also if the client leaves before it is answered: what it sends again finds out from the database what was done.
    request.whenClosed(app.limits.keys.claim({ username, key }))
    const tell = () => void reply.header('idempotency-replayed', 'true')
    IdempotentRequest.begin(app.storage, { username, key, hash: requestHash(request) }, tell).then((doing) => {
      request.user = { ...user, idempotency: doing }
      done()
    }, done)
  })
}

export default fp(idempotency, { name: 'idempotency', dependencies: ['auth', 'bodies', 'errors'] })
