import { randomUUID } from 'node:crypto'
import { readdirSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import autoload from '@fastify/autoload'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyServerOptions, LogController } from 'fastify'
import type { Logger } from 'pino'
import { type Config, trustedProxies } from './config.ts'
import { failure } from './envelope.ts'
import { Failure } from './errors.ts'
import { ChangeStreams } from './journal/change-streams.ts'
import { byName, type Model, type Models } from './model/model.ts'
import type { ModelsStatus } from './models-status.ts'
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
    changeStreams: ChangeStreams
    damage: Damage
    limits: UserLimits
    /** part of the process's memory limits that this app may use */
    memoryShare: number
    /**
     * Keeps a request that met tables of another shape until the next app answers it; returns false if it cannot wait.
     * See `HttpFront.holdForNextApp`.
     */
    holdForNextApp: HoldForNextApp | undefined
    /** whether the served models match the files in the models folder */
    modelsStatus(): ModelsStatus
    /** serves what the models folder has now, if that can be served */
    reloadModels(): Promise<ModelsStatus>
  }
}

type HoldForNextApp = (request: IncomingMessage) => boolean

/** Everything that an app is built from. The app owns none of these parts; `Service` does. */
export interface AppParts {
  config: Config
  storage: Storage
  models: Model[]
  logger: FastifyServerOptions['loggerInstance']
  metrics: Metrics
  /** open streams of changes; shared by successive apps, so a reload does not end them */
  changeStreams?: ChangeStreams
  damage?: Damage
  limits?: UserLimits
  /** part of the process's memory limits that this app may use, if several threads serve; default: all */
  memoryShare?: number
  /** undefined if no other app will replace this one by itself */
  holdForNextApp?: HoldForNextApp | undefined
  /** default: always current, for an app whose models are never reloaded */
  modelsStatus?(): ModelsStatus
  /** default: does nothing, for the same reason */
  reloadModels?(): Promise<ModelsStatus>
}

const PLUGINS = join(import.meta.dirname, '..', 'plugins')
/** Long enough for any model's name; a longer path parameter is answered as an unknown path. */
const MAX_PARAM_LENGTH = 500

/**
 * Loads the modules of the plugins: there is time for it while the storage starts a thread. `buildApp` reports those that
 * cannot be loaded.
 */
export async function preloadPlugins(): Promise<void> {
  const files = readdirSync(PLUGINS).filter((name) => name.endsWith('.ts'))
  await Promise.allSettled(files.map((name) => import(String(pathToFileURL(join(PLUGINS, name))))))
}

/** Builds the whole service as a Fastify app. The app does not listen itself: `HttpFront` passes requests to it. */
export async function buildApp({
  config,
  storage,
  models,
  logger,
  metrics,
  changeStreams,
  damage,
  limits = new UserLimits(),
  memoryShare = 1,
  holdForNextApp,
  modelsStatus = () => ({ current: true }),
  reloadModels = async () => modelsStatus(),
}: AppParts): Promise<FastifyInstance> {
  const app = Fastify({
    loggerInstance: logger,
    // plugins/log.ts writes one line per answered request; Fastify's own two lines are not needed.
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: () => randomUUID(),
    // A child logger per request costs more than reading a record; the few lines written name the request themselves.
    childLoggerFactory: (parent) => parent,
    bodyLimit: config.BODY_LIMIT_BYTES,
    trustProxy: trustedProxies(config),
    // Requests that arrive on open connections while an app closes are still answered.
    return503OnClosing: false,
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH, ignoreTrailingSlash: true },
    // A URL that cannot be decoded fails before any route, hook or error handler runs.
    frameworkErrors: (_error, request, reply) => {
      const bad = new Failure('BAD_REQUEST', 'The address is not a valid URL.')
      ;(reply as FastifyReply).code(400).send(failure(bad, request.id))
    },
  })
  app.decorate('config', config)
  app.decorate('storage', storage)
  app.decorate('models', byName(models))
  app.decorate('metrics', metrics)
  app.decorate('changeStreams', changeStreams ?? new ChangeStreams(storage, byName(models), app.log.warn.bind(app.log)))
  app.decorate('damage', damage ?? new Damage(app.log as Logger))
  app.decorate('limits', limits)
  app.decorate('memoryShare', memoryShare)
  app.decorate('holdForNextApp', holdForNextApp)
  app.decorate('modelsStatus', modelsStatus)
  app.decorate('reloadModels', reloadModels)
  app.register(autoload, { dir: PLUGINS })
  await app.ready()
  return app as unknown as FastifyInstance
}
