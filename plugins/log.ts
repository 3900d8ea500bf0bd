import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'

/** Levels at which the line is logged; at others, building it would be wasted work. */
const WORTH_A_LINE = ['trace', 'debug', 'info']

/** One log line per request, answered or dropped by its client. It never contains a header, cookie or body. */
async function log(app: FastifyInstance) {
  if (!WORTH_A_LINE.includes(app.config.LOG_LEVEL)) return
  app.onEnded((request, reply, isDropped) => {
    const { id: reqId, method, url, ip } = request
    const username = request.user?.username
    const status = isDropped ? undefined : reply.statusCode
    const ms = Math.round(reply.elapsedTime * 10) / 10
    app.log.info({ reqId, method, url, status, ms, ip, username }, isDropped ? 'dropped' : 'answered')
  })
}

export default fp(log, { name: 'log', dependencies: ['request-end', 'session'] })
