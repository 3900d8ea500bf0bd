import { unavailable } from '../errors.ts'

/** Lets so many through at once; some may wait in line, and past that the answer is to come back later. */
export class Turnstile {
  readonly #concurrent: number
  readonly #maxWaiting: number
  readonly #waiting: (() => void)[] = []
  #running = 0

  constructor(concurrent: number, maxWaiting: number) {
    this.#concurrent = concurrent
    this.#maxWaiting = maxWaiting
  }

  async pass<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#running < this.#concurrent) this.#running++
    else await this.#waitInLine()
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next) next()
      else this.#running--
    }
  }

  /** Whoever leaves hands their place to the first in line. */
  #waitInLine(): Promise<void> {
    if (this.#waiting.length >= this.#maxWaiting)
      throw unavailable('Too many people are logging in right now. Try again in a few seconds.', 5)
    return new Promise((resolve) => {
      this.#waiting.push(resolve)
    })
  }
}
