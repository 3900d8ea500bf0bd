import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import type { Logger } from 'pino'
import { buildApp, type ModelsStatus } from './app.ts'
import { scheduleBackups } from './backups.ts'
import type { Config } from './config.ts'
import { backupDatabase, backupName } from './database/backup.ts'
import { type Database, databaseFile, openDatabase } from './database/database.ts'
import { HttpFront } from './http.ts'
import { Metrics } from './metrics.ts'
import { loadModels, ModelFaults } from './model/load.ts'
import type { Model } from './model/model.ts'
import { createPeopleTables } from './people/tables.ts'
import { ensureAdmin } from './people/users.ts'
import { repairCounts } from './tables/counts.ts'
import { isRisky, MigrationRefused, migrate, planModels } from './tables/migrate.ts'
import { watchFolder } from './watch.ts'

type App = Awaited<ReturnType<typeof buildApp>>

/** A file that is being written looks broken for a moment: faults are believed when they are still there. */
const SECOND_LOOK_MS = 300

const TELL_AGAIN_MS = 10_000

/** Owns the HTTP server and the database; builds an app from the models, and another one when they change. */
export class Service {
  readonly config: Config
  readonly database: Database
  readonly #log: Logger
  readonly #metrics: Metrics
  #app!: App
  #front!: HttpFront
  #fingerprint = ''
  #status: ModelsStatus = { current: true }
  #toldOverload = 0
  #stopWatching = () => {}
  #stopBackups!: () => void
  /** one change after the other */
  #reloading: Promise<void> = Promise.resolve()

  constructor(config: Config, log: Logger) {
    this.config = config
    this.#log = log
    this.#metrics = new Metrics(databaseFile(config.DATA_DIR))
    this.database = openDatabase(config.DATA_DIR, (writes, ms) => this.#metrics.commit(writes, ms))
  }

  /** Returns the address, and the first admin's password if it had to be made up. */
  async start(): Promise<{ url: string; madeUp?: string }> {
    await createPeopleTables(this.database)
    const models = await loadModels(this.config.MODELS_DIR)
    await this.#migrate(models)
    const wrong = await repairCounts(this.database, models)
    if (wrong.length > 0)
      this.#log.warn({ models: wrong }, 'records were counted anew: the tables had been changed by hand')
    this.#app = await this.#build(models)
    this.#fingerprint = fingerprintOf(models)
    const admin = await ensureAdmin(this.database, this.config)
    this.#front = new HttpFront(this.#app, {
      waited: (ms) => this.#metrics.waited(ms),
      turnedAway: () => this.#turnedAway(),
    })
    const url = await this.#front.listen(this.config.HOST, this.config.PORT)
    if (this.config.WATCH_MODELS) this.#stopWatching = watchFolder(this.config.MODELS_DIR, () => this.reload())
    this.#stopBackups = scheduleBackups(this.config, this.#log)
    return { url, ...admin }
  }

  /** Follows the models folder. A fault anywhere leaves everything as it is. */
  reload(): Promise<void> {
    this.#reloading = this.#reloading.then(() => this.#follow()).catch((error) => this.#differ(error))
    return this.#reloading
  }

  async stop(): Promise<void> {
    this.#stopWatching()
    this.#stopBackups()
    await this.#reloading
    await this.#front.stop(this.config.SHUTDOWN_SECONDS)
    await this.#app.close()
    await this.database.destroy()
  }

  async #follow(): Promise<void> {
    const models = await this.#loadPatiently()
    if (fingerprintOf(models) === this.#fingerprint) return this.#agree()
    const next = await this.#build(models)
    const previous = this.#app
    try {
      const plans = await planModels(this.database, models)
      const swap = () => {
        this.#app = next
        return this.#front.replace(next)
      }
      // Tables change under nobody's feet: requests wait while it happens, and go on with the new app.
      let swapped = Promise.resolve()
      if (plans.some(({ steps, refusals }) => steps.length + refusals.length > 0))
        await this.#front.pauseFor(async () => {
          await this.#migrate(models)
          swapped = swap()
        })
      else swapped = swap()
      this.#fingerprint = fingerprintOf(models)
      this.#agree()
      this.#log.info({ models: models.map(({ name }) => name) }, 'models reloaded')
      void swapped.then(() => previous.close())
    } catch (error) {
      await next.close()
      throw error
    }
  }

  async #loadPatiently(): Promise<Model[]> {
    try {
      return await loadModels(this.config.MODELS_DIR)
    } catch {
      await setTimeout(SECOND_LOOK_MS)
      return loadModels(this.config.MODELS_DIR)
    }
  }

  /** Plans now, when nobody writes any more: a copy is due before anything risky that is not refused. */
  async #migrate(models: Model[]): Promise<void> {
    const plans = await planModels(this.database, models)
    if (plans.some(isRisky) && plans.every(({ refusals }) => refusals.length === 0)) {
      const target = join(this.config.DATA_DIR, 'backups', backupName('before-change'))
      await backupDatabase(databaseFile(this.config.DATA_DIR), target)
      this.#log.info({ target }, 'backup made before a change of tables')
    }
    for (const { model, steps } of await migrate(this.database, models))
      this.#log.info({ model: model.name, steps: steps.map(({ what }) => what) }, 'table changed')
  }

  async #build(models: Model[]): Promise<App> {
    const { config, database } = this
    return buildApp({
      config,
      database,
      models,
      logger: this.#log,
      metrics: this.#metrics,
      modelsStatus: () => this.#status,
    })
  }

  /** Overload is told in the log as well, but not for each request: that would add to it. */
  #turnedAway() {
    this.#metrics.turnedAway()
    if (Date.now() < this.#toldOverload + TELL_AGAIN_MS) return
    this.#toldOverload = Date.now()
    this.#log.warn('overload: requests are turned away')
  }

  #agree() {
    this.#status = { current: true }
  }

  #differ(error: Error) {
    const expected = error instanceof ModelFaults || error instanceof MigrationRefused
    const why = expected ? error.message.split('\n') : ['Something unexpected happened; it has been logged.']
    this.#status = { current: false, since: this.#status.since ?? new Date().toISOString(), why }
    if (expected) for (const fault of why) this.#log.error({ fault }, 'the models folder is not followed')
    else this.#log.error(error, 'the models folder is not followed')
  }
}

const fingerprintOf = (models: Model[]) => models.map(({ name, hash }) => `${name} ${hash}`).join('\n')
