import { hash } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { Failure } from '../src/errors.ts'
import { Once } from '../src/journal/once.ts'
import { mayChange } from '../src/requests/changing.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** its body is not read as a whole: the route itself looks at the key */
    streamed?: boolean
  }
  interface FastifyRequest {
    /** what is done under a key has ended */
    doneOnce: (() => void) | undefined
  }
}

/** Any printable characters. */
const KEY = /^[\x20-\x7e]{1,255}$/
/** What a request depends on, beside who sends it, its address and its body. */
const HEADERS = ['if-match']

/** `Idempotency-Key`: what is sent again is not done again. Whoever writes something finds the key with the user. */
async function once(app: FastifyInstance) {
  app.decorateRequest('doneOnce', undefined)

  app.addHook('preHandler', (request, reply, done) => {
    const key = keyIn(request)
    if (key === undefined) return done()
    const { username } = request.user
    const tell = () => void reply.header('idempotency-replayed', 'true')
    const doing = new Once(app.storage, { username, key, hash: hashOf(request) }, tell)
    request.doneOnce = doing.begin()
    request.user = { ...request.user, once: doing }
    done()
  })

  app.addHook('onResponse', (request, _reply, done) => {
    request.doneOnce?.()
    done()
  })
}

/** The key of a request that changes something. */
function keyIn({ headers, method, user, routeOptions: { config } }: FastifyRequest): string | undefined {
  const key = headers['idempotency-key']
  if (key === undefined || !user || config.streamed || !mayChange(method, config)) return undefined
  if (KEY.test(String(key))) return String(key)
  throw new Failure('BAD_REQUEST', 'The header "Idempotency-Key" must have 1 to 255 printable characters.')
}

function hashOf({ method, url, headers, body }: FastifyRequest): string {
  return hash('sha256', JSON.stringify([method, url, HEADERS.map((name) => headers[name] ?? null), body ?? null]))
}

export default fp(once, { name: 'once', dependencies: ['auth', 'bodies', 'errors'] })
