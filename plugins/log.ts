import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'

/** Above these levels the line would be put together only to be thrown away. */
const WORTH_A_LINE = ['trace', 'debug', 'info']

/** One line per answered request: never a header, a cookie or a body. */
async function log(app: FastifyInstance) {
  if (!WORTH_A_LINE.includes(app.config.LOG_LEVEL)) return
  app.addHook('onResponse', (request, reply, done) => {
    const { id: reqId, method, url, ip } = request
    const username = request.user?.username
    app.log.info(
      { reqId, method, url, status: reply.statusCode, ms: Math.round(reply.elapsedTime * 10) / 10, ip, username },
      'answered',
    )
    done()
  })
}

export default fp(log, { name: 'log', dependencies: ['session'] })
