/** Lets other requests run before the caller goes on. */
export const yieldToOthers = (): Promise<void> => new Promise(setImmediate)

/** How long work may go on before other requests have their turn. */
const YIELD_AFTER_MS = 5

/** Lets long work on the serving thread pause regularly, so that other requests can run. */
export class Yielder {
  readonly #ms: number
  #since = performance.now()

  constructor(ms = YIELD_AFTER_MS) {
    this.#ms = ms
  }

  /** Whether it is time to pause. Callers check this first, because even an `await` without need takes time. */
  get isDue(): boolean {
    return performance.now() - this.#since >= this.#ms
  }

  async yield(): Promise<void> {
    await yieldToOthers()
    this.#since = performance.now()
  }
}
