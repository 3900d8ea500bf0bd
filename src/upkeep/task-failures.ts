import type { Logger } from 'pino'
import type { Damage } from './damage.ts'
import type { Metrics } from './metrics.ts'

/** A failing task is logged at most this often. */
const LOG_INTERVAL_MS = 10_000

/** Counts and logs failures of background tasks, which are retried. */
export class TaskFailures {
  readonly #log: Logger
  readonly #metrics: Metrics
  readonly #damage: Damage
  /** when a failure of each task was last logged */
  readonly #loggedAt = new Map<string, number>()

  constructor(log: Logger, metrics: Metrics, damage: Damage) {
    this.#log = log
    this.#metrics = metrics
    this.#damage = damage
  }

  readonly add = (task: string, error: unknown): void => {
    this.#metrics.countTaskFailure(task)
    this.#damage.detect(error)
    const now = performance.now()
    if (now < (this.#loggedAt.get(task) ?? Number.NEGATIVE_INFINITY) + LOG_INTERVAL_MS) return
    this.#loggedAt.set(task, now)
    this.#log.warn(error, `background task failed, and is tried again: ${task}`)
  }

  /** Returns a handler for the failures of one task. */
  reporter(task: string): (error: unknown) => void {
    return (error) => this.add(task, error)
  }
}
