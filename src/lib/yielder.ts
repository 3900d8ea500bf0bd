/** Long work on the thread that serves everybody makes pauses in which others have their turn. */
export class Yielder {
  readonly #ms: number
  #since = performance.now()

  constructor(ms: number) {
    this.#ms = ms
  }

  /** It has been long enough. Asked first, for even to wait for nothing takes its time. */
  get isDue(): boolean {
    return performance.now() - this.#since >= this.#ms
  }

  async yield(): Promise<void> {
    await new Promise(setImmediate)
    this.#since = performance.now()
  }
}
