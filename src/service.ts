import type { Logger } from 'pino'
import { buildApp, preloadPlugins } from './app.ts'
import type { Config } from './config.ts'
import { loadModels, loadModelsWithRetry } from './filters/load-models.ts'
import { requireFreePort } from './http/address.ts'
import { HttpFront } from './http/front.ts'
import { mayWriteTo } from './http/may-write-to.ts'
import { ChangeStreams } from './journal/change-streams.ts'
import { retry } from './lib/retry.ts'
import { throttle } from './lib/throttle.ts'
import { byName, type Model, modelsFingerprint } from './model/model.ts'
import { ModelSource, type ModelsToServe, watchModels } from './model-source.ts'
import { ModelsStatusTracker } from './models-status.ts'
import { ensureAdmin, type ShowPassword } from './people/first-admin.ts'
import { UserLimits } from './records/user-limits.ts'
import { countThreads, ServingThreads } from './serving/serving-threads.ts'
import { openStorage } from './storage/open.ts'
import { isUnavailable, type Storage, type StorageEvents } from './storage/storage.ts'
import { START_TIMEOUT_MS, TableChanges } from './table-changes.ts'
import { hasLeftovers, type MigrateOptions, planMigration, Superseded } from './tables/migrate.ts'
import { areShapesKnown, isUpToDate, type MigrationPlan, throwIfRefused } from './tables/migration-plan.ts'
import { Damage } from './upkeep/damage.ts'
import { Metrics } from './upkeep/metrics.ts'
import { TaskFailures } from './upkeep/task-failures.ts'
import { startUpkeep } from './upkeep/upkeep.ts'

type App = Awaited<ReturnType<typeof buildApp>>
const OVERLOAD_LOG_MS = 10_000
const isSuperseded = (error: unknown) => error instanceof Superseded

/** Owns the HTTP server and the storage; builds an app from the models, and another one when they change. */
export class Service {
  readonly config: Config
  storage!: Storage
  changeStreams!: ChangeStreams
  readonly #log: Logger
  readonly #metrics = new Metrics()
  #app!: App
  #front!: HttpFront
  #threads!: ServingThreads
  /** resolves when all serving threads accept connections */
  threadsStarted!: Promise<void>
  #modelSource!: ModelSource
  #fingerprint = ''
  /** fingerprint of the models that were loaded last, whether they could be served or not */
  #loadedFingerprint = ''
  /** whether the last reload failed because the database was unavailable */
  #isDatabaseUnavailable = false
  readonly #status: ModelsStatusTracker
  readonly #stopping = new AbortController()
  /** Overload is logged too, but not for each rejected request: that would add to the load. */
  readonly #logOverload = throttle(OVERLOAD_LOG_MS, () => this.#log.warn('overload: requests are turned away'))
  readonly #damage: Damage
  readonly limits = new UserLimits()
  readonly #failures: TaskFailures
  readonly #tables: TableChanges
  #stopWatching!: () => void
  #stopUpkeep!: () => void
  #isReloadingForOthers = false
  /** units of all groups since the start, also rejected ones: a measure of load */
  #unitCount = 0
  /** reloads run one after the other */
  #reloading: Promise<void> = Promise.resolve()

  constructor(config: Config, log: Logger) {
    this.config = config
    this.#log = log
    this.#damage = new Damage(log)
    this.#failures = new TaskFailures(log, this.#metrics, this.#damage)
    this.#tables = new TableChanges(config, log, this.#failures, this.#stopping.signal)
    this.#status = new ModelsStatusTracker(log, () => {
      const start = performance.now()
      this.#retryRefused().catch((error) => this.#status.fail(error, performance.now() - start))
    })
  }

  /** Starts the service and returns its URL. Shows the first admin's password if it was generated. */
  async start(show: ShowPassword): Promise<{ url: string }> {
    const { config } = this
    const count = countThreads(config, this.#log)
    const storageEvents: StorageEvents = {
      onGroup: (units, ms) => {
        this.#metrics.observeCommit(units, ms)
        this.#unitCount += units
        this.changeStreams?.wake()
      },
      onError: this.#failures.add,
    }
    ;[this.storage] = await Promise.all([openStorage(config, storageEvents, count), preloadPlugins()])
    this.#modelSource = new ModelSource(this.storage, config.MODELS_DIR)
    const { models, why } = await retry(() => this.#prepare(), isSuperseded, START_TIMEOUT_MS)
    this.#status.succeed(why)
    this.changeStreams = new ChangeStreams(this.storage, byName(models), this.#failures.reporter('streams of changes'))
    this.#threads = this.#newThreads()
    this.#app = await this.#build(models, 1 / count)
    this.#fingerprint = modelsFingerprint(models)
    const events = {
      onWait: this.#metrics.observeWait,
      onDisconnect: this.#metrics.countDropped,
      onShed: () => {
        this.#metrics.countShed()
        this.#logOverload()
      },
      onWaitForNextApp: () => this.#reloadForOthers(),
    }
    this.#front = new HttpFront(this.#app, events, { memoryShare: 1 / count })
    if (count > 1) await requireFreePort(config.HOST, config.PORT)
    const url = await this.#front.listen(config.HOST, config.PORT, count > 1)
    // Requests wait until there is an admin.
    await this.#front.holdRequests(
      () => true,
      () => this.#startBackground(config, show),
    )
    // In the background: the main thread serves already.
    this.threadsStarted = this.#threads.start(count - 1, url).catch(this.#failures.reporter('start of serving threads'))
    // Follows edits that were made while the service started.
    if (config.WATCH_MODELS) void this.reload()
    return { url }
  }

  async #startBackground(config: Config, show: ShowPassword): Promise<void> {
    const serving = {
      reload: () => this.reload(),
      fingerprint: () => this.#fingerprint,
      onError: this.#failures.reporter('reading the models that other nodes serve'),
    }
    this.#stopWatching = watchModels(this.storage, config, serving)
    this.#stopUpkeep = startUpkeep(this.storage, config, {
      log: this.#log,
      metrics: this.#metrics,
      onError: this.#failures.add,
      models: () => [...this.#app.models.values()],
      countUnits: () => this.#unitCount,
    })
    // Runs last of all steps that can fail, so a generated password is not lost in a failed start.
    await ensureAdmin(this.storage, config, show)
  }

  /** Reads the models, and brings the tables in line with them before anything is served. */
  async #prepare(): Promise<ModelsToServe> {
    const wanted = await this.#modelSource.read()
    await this.#status.warnIgnoredFiles(this.config.MODELS_DIR)
    await this.#tables.prepare(this.storage, wanted)
    return wanted
  }

  /** Reloads the models; forced, also if other nodes have published later ones. After an error the old app goes on. */
  reload(isForced = false): Promise<void> {
    this.#reloading = this.#reloading.then(async () => {
      const start = performance.now()
      try {
        await this.#applyModels(isForced)
      } catch (error) {
        if (isSuperseded(error)) void this.reload(isForced)
        else if (this.#stopping.signal.aborted) this.#log.info('the models folder was not reloaded: the service stops')
        else {
          this.#isDatabaseUnavailable = isUnavailable(error)
          if (this.#isDatabaseUnavailable) this.#modelSource.undo()
          this.#status.fail(error as Error, performance.now() - start)
        }
      }
    })
    return this.#reloading
  }

  /** Reloads at once instead of at the next poll: another node may have changed the tables. */
  #reloadForOthers(): void {
    if (!this.storage.published || this.#isReloadingForOthers) return
    this.#isReloadingForOthers = true
    void this.reload().finally(() => {
      this.#isReloadingForOthers = false
    })
  }

  async stop(): Promise<void> {
    this.#stopWatching()
    this.#stopUpkeep()
    this.changeStreams.close()
    this.#status.stop()
    this.#stopping.abort()
    await this.#reloading
    await Promise.all([this.#threads, this.#front].map((part) => part.stop(this.config.SHUTDOWN_SECONDS)))
    await this.#app.close()
    await this.storage.close()
  }

  async #applyModels(isForced: boolean): Promise<void> {
    const load = (folder: string) => loadModelsWithRetry(folder, { signal: this.#stopping.signal })
    const { models, fingerprint, mustPublish, generation, why } = await this.#modelSource.read(isForced, load)
    await this.#status.warnIgnoredFiles(this.config.MODELS_DIR)
    this.#loadedFingerprint = fingerprint
    const isSame = this.#loadedFingerprint === this.#fingerprint && !mustPublish
    // Another process may have changed the tables meanwhile, or died while it did.
    const areTablesIntact = isSame && (await areShapesKnown(this.storage.db, models))
    if (areTablesIntact && !(await hasLeftovers(this.storage))) return this.#status.succeed(why)
    const migrationPlan = await planMigration(this.storage, models)
    let next: App | undefined
    try {
      ;[next] = await Promise.all([this.#build(models), this.#threads.prepare(models)])
      if (isUpToDate(migrationPlan) && !mustPublish) {
        // Otherwise the new app would know the old shapes, and reject requests as stale.
        await this.storage.refreshShapes()
        this.#swapTo(next)
      } else await this.#change(models, migrationPlan, () => this.#swapTo(next as App), generation)
    } catch (error) {
      this.#threads.discard()
      await next?.close()
      throw error
    }
    this.#fingerprint = this.#loadedFingerprint
    this.#status.succeed(why)
    this.#log.info({ models: models.map(({ name }) => name) }, 'models reloaded')
  }

  /** Serves the next app. The previous one is closed when it has answered all requests that it has begun. */
  #swapTo(next: App): void {
    const previous = this.#app
    this.#app = next
    this.changeStreams.serve(next.models)
    const closed = this.#front.replace(next).then(() => previous.close())
    closed.catch(this.#failures.reporter('closing the app of earlier models'))
    this.#threads.swap()
  }

  /** Writes to the changing models wait for the migration's last step, then run in the new app; all others continue. */
  async #change(models: Model[], migrationPlan: MigrationPlan, swap: () => void, generation?: number): Promise<void> {
    throwIfRefused(migrationPlan)
    const changing = migrationPlan.plans.filter(({ steps }) => steps.length > 0).map(({ model }) => model.name)
    const hold: MigrateOptions['hold'] = async (lastStep) => {
      const held = this.#threads.hold(changing)
      try {
        return await this.#front.holdRequests(
          (request) => mayWriteTo(request, changing),
          () => held.then(lastStep),
        )
      } finally {
        this.#threads.release()
      }
    }
    const beforeCommit = () => this.#threads.keepSnapshots()
    await this.#tables.apply(this.storage, models, migrationPlan, { beforeCommit, swap, hold, generation })
  }

  /** Whether requests that met tables of another shape may wait for the app that fits them. */
  get #canWaitForNextApp(): boolean {
    return this.storage.published !== undefined || this.config.WATCH_MODELS
  }

  #newThreads(): ServingThreads {
    return new ServingThreads(this.storage, {
      config: this.config,
      models: () => [...this.#app.models.values()],
      adopt: (socket) => this.#front.adopt(socket),
      logger: this.#log,
      metrics: this.#metrics,
      damage: this.#damage,
      onError: this.#failures.reporter('start of serving threads'),
      canWaitForNextApp: this.#canWaitForNextApp,
      onWaitForNextApp: () => this.#reloadForOthers(),
      whileUnchanged: (work) => {
        const done = this.#reloading.then(work)
        this.#reloading = done.catch(() => {})
        return done
      },
    })
  }

  async #build(models: Model[], memoryShare = this.#app.memoryShare): Promise<App> {
    const { config, storage } = this
    return buildApp({
      memoryShare,
      config,
      storage,
      models,
      logger: this.#log,
      metrics: this.#metrics,
      changeStreams: this.changeStreams,
      damage: this.#damage,
      limits: this.limits,
      holdForNextApp: this.#canWaitForNextApp ? (request) => this.#front.holdForNextApp(request) : undefined,
      modelsStatus: () => this.#status.status(models, storage),
      reloadModels: async () => {
        await this.reload()
        return this.#status.status([...this.#app.models.values()], storage)
      },
    })
  }

  /** Retries a refused change, whose obstacle in the data may be gone, if the model files are still the same. */
  async #retryRefused(): Promise<void> {
    const models = await loadModels(this.config.MODELS_DIR, { signal: this.#stopping.signal }).catch(() => [])
    // If another process has changed the tables since, only a SIGHUP brings them back.
    const isAlone =
      !this.#stopping.signal.aborted && (await areShapesKnown(this.storage.db, [...this.#app.models.values()]))
    if (isAlone && (this.#isDatabaseUnavailable || modelsFingerprint(models) === this.#loadedFingerprint))
      await this.reload()
    else if (!this.#stopping.signal.aborted) this.#status.retryLater()
  }
}
