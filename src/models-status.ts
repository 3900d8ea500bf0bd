import type { Logger } from 'pino'
import { explainIgnored, ignoredFiles, ModelFilesError } from './model/load.ts'
import { type Model, tableName } from './model/model.ts'
import { isUnavailable, Refused, type Storage } from './storage/storage.ts'
import { tableShape } from './tables/ddl.ts'

/** How often a refused change is tried again: every 5 s, or 3 times as long as the last try took, if that is more. */
const RETRY_MS = 5000
const RETRY_FACTOR = 3

/** Whether the served models match the models folder. */
export interface ModelsStatus {
  current: boolean
  /** when they began to differ */
  since?: string
  why?: string[]
  /** another node has published later models than those of the folder here */
  behind?: boolean
}

/** Tracks whether the served models match the models folder, the reasons if not, and when to check again. */
export class ModelsStatusTracker {
  readonly #log: Logger
  readonly #retry: () => void
  #status: ModelsStatus = { current: true }
  #timer: NodeJS.Timeout | undefined
  #ignored: string[] = []

  constructor(log: Logger, retry: () => void) {
    this.#log = log
    this.#retry = retry
  }

  /** The reload succeeded. `why` is set if the models served are not those of the folder. */
  succeed(why?: string): void {
    clearTimeout(this.#timer)
    if (why === undefined) this.#status = { current: true }
    else if (this.#status.why?.[0] !== why) {
      this.#status = { current: false, since: new Date().toISOString(), why: [why], behind: true }
      this.#log.warn(why)
    }
  }

  /** The reload failed. Retries it, because the data may get fixed; a faulty file is read again when it is saved. */
  fail(error: Error, tookMs: number): void {
    const expected = error instanceof ModelFilesError || error instanceof Refused || isUnavailable(error)
    const why = expected ? error.message.split('\n') : ['Something unexpected happened; it has been logged.']
    const isKnown = String(this.#status.why) === String(why)
    this.#status = { current: false, since: this.#status.since ?? new Date().toISOString(), why }
    clearTimeout(this.#timer)
    if (!(error instanceof ModelFilesError)) this.retryLater(RETRY_FACTOR * tookMs)
    if (isKnown) return
    if (expected) for (const fault of why) this.#log.error({ fault }, 'the models folder was not reloaded')
    else this.#log.error(error, 'the models folder was not reloaded')
  }

  retryLater(ms = 0): void {
    // A reload may have set a timer meanwhile.
    clearTimeout(this.#timer)
    this.#timer = setTimeout(this.#retry, Math.max(RETRY_MS, ms)).unref()
  }

  /** Also reports tables that another process, with other model files, has changed since. */
  status(models: Model[], storage: Storage): ModelsStatus {
    if (!this.#status.current) return this.#status
    const others = models.filter((model) => storage.shape(tableName(model)) !== tableShape(model))
    if (others.length === 0) return this.#status
    const names = others.map(({ name }) => name).join(', ')
    const why = `Another process has changed the tables of ${names}. Send SIGHUP to bring them back to the files here.`
    return { current: false, since: new Date().toISOString(), why: [why] }
  }

  /** Warns of files in the folder that are no models, once for each name. */
  async warnIgnoredFiles(folder: string): Promise<void> {
    const names = await ignoredFiles(folder)
    for (const name of names) if (!this.#ignored.includes(name)) this.#log.warn(explainIgnored(name))
    this.#ignored = names
  }

  stop(): void {
    clearTimeout(this.#timer)
  }
}
