/** Lets so many through at once; the others wait in line. */
export class Limiter {
  readonly #concurrent: number
  readonly #waiting: (() => void)[] = []
  #running = 0

  constructor(concurrent: number) {
    this.#concurrent = concurrent
  }

  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    // Whoever leaves hands their place to the first in line.
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
