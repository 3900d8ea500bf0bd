import type { Logger } from 'pino'
import type { Config } from './config.ts'
import { retry } from './lib/retry.ts'
import { throttle } from './lib/throttle.ts'
import type { Model } from './model/model.ts'
import type { ModelsToServe } from './model-source.ts'
import { isStale, isUnavailable, type Storage } from './storage/storage.ts'
import { isMiscounted } from './tables/counts.ts'
import { isRisky, type MigrateOptions, migrate } from './tables/migrate.ts'
import { createMigrationPlan, isUpToDate, type MigrationPlan, throwIfRefused } from './tables/migration-plan.ts'
import { backupBeforeChange } from './upkeep/backups.ts'
import type { TaskFailures } from './upkeep/task-failures.ts'

const TELL_PROGRESS_MS = 5000
export const START_TIMEOUT_MS = 60_000

/** Changes tables for the service: logs progress and steps, and makes a backup before a risky change. */
export class TableChanges {
  readonly #config: Config
  readonly #log: Logger
  readonly #options: MigrateOptions

  constructor(config: Config, log: Logger, failures: TaskFailures, signal: AbortSignal) {
    this.#config = config
    this.#log = log
    const tell = (model: string, percent: number) => log.info({ model, percent }, 'a table is being rebuilt')
    this.#options = {
      signal,
      onProgress: throttle(TELL_PROGRESS_MS, tell, Date.now()),
      onError: failures.reporter('tidying up after a change of tables'),
    }
  }

  /** Runs before the service listens, so the tables are examined here, on the serving thread. */
  async prepare(storage: Storage, { models, mustPublish, generation }: ModelsToServe): Promise<void> {
    const { db } = storage
    const examine = async () => {
      const migrationPlan = await createMigrationPlan(db, models)
      const unchangedModels = models.filter((_, index) => migrationPlan.plans[index]?.steps.length === 0)
      const miscounted: string[] = []
      for (const model of unchangedModels) if (await isMiscounted(db, model)) miscounted.push(model.name)
      return { migrationPlan, miscounted }
    }
    // A table cannot be read while another node changes it: the start waits for that.
    const isPassing = (error: unknown) => isUnavailable(error) || isStale(error)
    const { migrationPlan, miscounted } = await retry(examine, isPassing, START_TIMEOUT_MS)
    if (isUpToDate(migrationPlan) && miscounted.length === 0 && !mustPublish) return
    throwIfRefused(migrationPlan)
    await this.apply(storage, models, migrationPlan, { isStarting: true, generation }, miscounted)
    const told = { models: miscounted }
    if (miscounted.length > 0) this.#log.warn(told, 'records were recounted: the tables had been changed by hand')
  }

  async apply(
    storage: Storage,
    models: Model[],
    migrationPlan: MigrationPlan,
    hooks: MigrateOptions = {},
    miscounted: string[] = [],
  ): Promise<void> {
    const backup = this.#backup(storage, migrationPlan)
    const options = { ...this.#options, ...hooks, ...(backup && { beforeLastStep: backup }) }
    for (const { model, steps } of await migrate(storage, models, options, miscounted))
      this.#log.info({ model: model.name, steps: steps.map(({ what }) => what) }, 'table changed')
  }

  /** Only once nothing refuses the change: refused changes are retried again and again. */
  #backup(storage: Storage, { plans }: MigrationPlan): (() => Promise<void>) | undefined {
    // An engine without `backup` leaves backups to the operator.
    if (!plans.some(isRisky) || !storage.backup) return undefined
    return async () => {
      const target = await backupBeforeChange(storage, this.#config)
      this.#log.info({ target }, 'backup made before a change of tables')
    }
  }
}
