/** Runs at most `concurrent` pieces of work at once; the others wait in order. */
export class Limiter {
  readonly #concurrent: number
  readonly #waiting: (() => void)[] = []
  #running = 0

  constructor(concurrent: number) {
    this.#concurrent = concurrent
  }

  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    // Work that ends passes its slot to the next in line, so `#running` changes only if none waits.
    if (this.#running < this.#concurrent) this.#running++
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next) next()
      else this.#running--
    }
  }
}
