import type { Logger } from 'pino'
import type { ModelsStatus } from './app.ts'
import { explainPassedOver, ModelFaults, passedOver } from './model/load.ts'
import { type Model, tableName } from './model/model.ts'
import { isUnavailable, Refused, type Storage } from './storage/storage.ts'
import { tableShape } from './tables/ddl.ts'

/** While a change is refused, it is looked this often whether it still would be; more seldom where a look takes long. */
const LOOK_AGAIN_MS = 5000
const LOOK_SHARE = 3

/** Whether what is served is what the models folder says; and if not, why, and when it is looked at again. */
export class ModelsStatusTracker {
  readonly #log: Logger
  readonly #lookAgain: () => void
  #status: ModelsStatus = { current: true }
  #timer: NodeJS.Timeout | undefined
  #passedOver: string[] = []

  constructor(log: Logger, lookAgain: () => void) {
    this.#log = log
    this.#lookAgain = lookAgain
  }

  /** What is served is what is to be served; if that is not what the folder says, why. */
  agree(why?: string): void {
    clearTimeout(this.#timer)
    if (why === undefined) this.#status = { current: true }
    else if (this.#status.why?.[0] !== why) {
      this.#status = { current: false, since: new Date().toISOString(), why: [why] }
      this.#log.warn(why)
    }
  }

  /** What is in the way of a change may be mended in the data; a faulty file is looked at when it is saved. */
  differ(error: Error, tookMs: number): void {
    const expected = error instanceof ModelFaults || error instanceof Refused || isUnavailable(error)
    const why = expected ? error.message.split('\n') : ['Something unexpected happened; it has been logged.']
    const isKnown = String(this.#status.why) === String(why)
    this.#status = { current: false, since: this.#status.since ?? new Date().toISOString(), why }
    clearTimeout(this.#timer)
    if (!(error instanceof ModelFaults)) this.lookLater(LOOK_SHARE * tookMs)
    if (isKnown) return
    if (expected) for (const fault of why) this.#log.error({ fault }, 'the models folder is not followed')
    else this.#log.error(error, 'the models folder is not followed')
  }

  lookLater(ms = 0): void {
    // A reload may have asked for a look as well meanwhile.
    clearTimeout(this.#timer)
    this.#timer = setTimeout(this.#lookAgain, Math.max(LOOK_AGAIN_MS, ms)).unref()
  }

  /** Also whether another process, with other files, has changed the tables since. */
  status(models: Model[], storage: Storage): ModelsStatus {
    if (!this.#status.current) return this.#status
    const others = models.filter((model) => storage.shape(tableName(model)) !== tableShape(model))
    if (others.length === 0) return this.#status
    const names = others.map(({ name }) => name).join(', ')
    const why = `Another process has changed the tables of ${names}. Send SIGHUP to bring them back to the files here.`
    return { current: false, since: new Date().toISOString(), why: [why] }
  }

  /** Files of the folder that are no models, once for each name. */
  async tellPassedOver(folder: string): Promise<void> {
    const names = await passedOver(folder)
    for (const name of names) if (!this.#passedOver.includes(name)) this.#log.warn(explainPassedOver(name))
    this.#passedOver = names
  }

  stop(): void {
    clearTimeout(this.#timer)
  }
}
