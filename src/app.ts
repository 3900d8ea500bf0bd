import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import autoload from '@fastify/autoload'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyServerOptions, LogController } from 'fastify'
import type { Logger } from 'pino'
import { type Config, trustedProxies } from './config.ts'
import { failure } from './envelope.ts'
import { Failure } from './errors.ts'
import { Streams } from './journal/streams.ts'
import { byName, type Model, type Models } from './model/model.ts'
import { UserLimits } from './records/user-limits.ts'
import type { Storage } from './storage/storage.ts'
import { Damage } from './upkeep/damage.ts'
import type { Metrics } from './upkeep/metrics.ts'

declare module 'fastify' {
  interface FastifyInstance {
    config: Config
    storage: Storage
    models: Models
    metrics: Metrics
    streams: Streams
    damage: Damage
    limits: UserLimits
    /** how the models that are served and the files in the folder compare */
    modelsStatus(): ModelsStatus
  }
}

/** Whether what is served is what the folder says. */
export interface ModelsStatus {
  current: boolean
  /** since when it is not */
  since?: string
  why?: string[]
}

/** What an app is made from. It owns none of it. */
export interface AppParts {
  config: Config
  storage: Storage
  models: Model[]
  logger: FastifyServerOptions['loggerInstance']
  metrics: Metrics
  /** those who listen to changes; they stay while apps come and go */
  streams?: Streams
  damage?: Damage
  limits?: UserLimits
  /** by default they are the same: an app that nobody changes */
  modelsStatus?(): ModelsStatus
}

const PLUGINS = join(import.meta.dirname, '..', 'plugins')
/** Long enough for any model's name; what is longer is answered as an unknown path. */
const MAX_PARAM_LENGTH = 500

/** The whole service, ready to take requests: nothing listens here. */
export async function buildApp({
  config,
  storage,
  models,
  logger,
  metrics,
  streams,
  damage,
  limits = new UserLimits(),
  modelsStatus = () => ({ current: true }),
}: AppParts): Promise<FastifyInstance> {
  const app = Fastify({
    loggerInstance: logger,
    // One line per answered request is enough: plugins/log.ts writes it.
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: () => randomUUID(),
    // A logger per request costs more than reading a record: the few lines that are written name the request themselves.
    childLoggerFactory: (parent) => parent,
    bodyLimit: config.BODY_LIMIT_BYTES,
    trustProxy: trustedProxies(config),
    // What arrives on open connections while an app is closed is still answered.
    return503OnClosing: false,
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    // An address that cannot be decoded fails before any route, hook or error handler.
    frameworkErrors: (_error, request, reply) => {
      const bad = new Failure('BAD_REQUEST', 'The address is not a valid URL.')
      ;(reply as FastifyReply).code(400).send(failure(bad, request.id))
    },
  })
  app.decorate('config', config)
  app.decorate('storage', storage)
  app.decorate('models', byName(models))
  app.decorate('metrics', metrics)
  app.decorate('streams', streams ?? new Streams(storage, byName(models), app.log.warn.bind(app.log)))
  app.decorate('damage', damage ?? new Damage(app.log as Logger))
  app.decorate('limits', limits)
  app.decorate('modelsStatus', modelsStatus)
  app.register(autoload, { dir: PLUGINS })
  await app.ready()
  return app as unknown as FastifyInstance
}
