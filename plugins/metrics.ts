import { hash, timingSafeEqual } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { Failure } from '../src/errors.ts'
import { readBounds } from '../src/journal/feed.ts'
import { ADMIN } from '../src/model/access.ts'
import { countSessions } from '../src/people/sessions.ts'
import { createCounter } from '../src/tables/counts.ts'

const TEXT = { type: 'string' }
/** Status of a request whose client disconnected before the answer, as nginx counts it. */
const DROPPED = 499

/** Metrics for Prometheus, for admins and for clients with METRICS_TOKEN. */
async function metrics(app: FastifyInstance) {
  app.onEnded(({ method, routeOptions }, { statusCode, elapsedTime: ms }, isDropped) => {
    app.metrics.countAnswered({
      method,
      route: routeOptions.url ?? 'none',
      status: isDropped ? DROPPED : statusCode,
      ms,
    })
    if (isDropped) app.metrics.countDropped()
  })

  app.get(
    '/metrics',
    {
      config: {
        public: true,
        failures: ['LOGIN_REQUIRED', 'FORBIDDEN'],
        docs: { answer: { description: 'Numbers, one per line', content: { 'text/plain': { schema: TEXT } } } },
      },
      schema: {
        tags: ['health'],
        operationId: 'metrics',
        summary: 'Numbers for Prometheus',
        description: 'Returns counters and durations in the text format of Prometheus.',
      },
    },
    async (request, reply) => {
      if (!hasToken(request, app.config.METRICS_TOKEN)) requireAdmin(request)
      const records = new Map<string, number>()
      for (const model of app.models.values()) records.set(model.name, await createCounter(app.storage, model).total())
      const sessions = await countSessions(app.storage.db, app.config)
      const { newest: changes } = await readBounds(app.storage)
      const streams = app.changeStreams.size
      const figures = await app.storage.stats()
      const text = await app.metrics.text({ sessions, records, changes, streams, figures })
      return reply.type(app.metrics.contentType).send(text)
    },
  )
}

function requireAdmin({ user }: FastifyRequest): void {
  if (!user)
    throw new Failure('LOGIN_REQUIRED', 'Log in first, or send the header "Authorization: Bearer" with METRICS_TOKEN.')
  if (!user.roles.includes(ADMIN)) throw new Failure('FORBIDDEN', `This needs the role "${ADMIN}".`)
}

/** Compares hashes in constant time, so that timing reveals neither length nor content of the token. */
function hasToken({ headers }: FastifyRequest, token: string | undefined): boolean {
  if (token === undefined) return false
  const digest = (text: string) => hash('sha256', text, 'buffer')
  return timingSafeEqual(digest(headers.authorization ?? ''), digest(`Bearer ${token}`))
}

export default fp(metrics, { name: 'metrics', dependencies: ['request-end', 'routes', 'auth', 'openapi'] })
