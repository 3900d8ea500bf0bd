import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import autoload from '@fastify/autoload'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyServerOptions, LogController } from 'fastify'
import { type Config, trustedProxies } from './config.ts'
import type { Database } from './database/database.ts'
import { failure } from './envelope.ts'
import { Failure } from './errors.ts'
import { logging } from './logging.ts'
import { createPeopleTables } from './people/tables.ts'

declare module 'fastify' {
  interface FastifyInstance {
    config: Config
    database: Database
  }
}

const PLUGINS = join(import.meta.dirname, '..', 'plugins')
/** Long enough for any model's name; what is longer is answered as an unknown path. */
const MAX_PARAM_LENGTH = 500

/** The whole service, ready to be listened on or injected into. It does not own the database. */
export async function buildApp(
  config: Config,
  database: Database,
  logger: FastifyServerOptions['logger'] = logging(config),
): Promise<FastifyInstance> {
  await createPeopleTables(database)
  const app = Fastify({
    logger,
    // One line per answered request is enough: plugins/log.ts writes it.
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: () => randomUUID(),
    bodyLimit: config.BODY_LIMIT_BYTES,
    trustProxy: trustedProxies(config),
    // What arrives on open connections while the service stops is still answered, and then they are closed.
    return503OnClosing: false,
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    // An address that cannot be decoded fails before any route, hook or error handler.
    frameworkErrors: (_error, request, reply) => {
      const bad = new Failure('BAD_REQUEST', 'The address is not a valid URL.')
      ;(reply as FastifyReply).code(400).send(failure(bad, request.id))
    },
    clientErrorHandler: answerBrokenRequest,
  })
  app.decorate('config', config)
  app.decorate('database', database)
  app.register(autoload, { dir: PLUGINS })
  await app.ready()
  return app
}

/** What is not even HTTP has no request and no reply: the answer is written to the socket by hand. */
function answerBrokenRequest(_error: Error, socket: Socket) {
  if (!socket.writable) return
  const body = JSON.stringify(failure(new Failure('BAD_REQUEST', 'This is not a valid HTTP request.'), randomUUID()))
  const head = [
    'HTTP/1.1 400 Bad Request',
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
    'Connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
}
