import { unavailable } from '../errors.ts'

/** How many may wait, and what the others are told: to come back after some seconds. */
interface Line {
  most: number
  tooMany: string
  seconds: number
}

/** Lets so many through at once; the others wait in line, which may have an end. */
export class Turnstile {
  readonly #concurrent: number
  readonly #line: Line | undefined
  readonly #waiting: (() => void)[] = []
  #running = 0

  constructor(concurrent: number, line?: Line) {
    this.#concurrent = concurrent
    this.#line = line
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
    const line = this.#line
    if (line && this.#waiting.length >= line.most) throw unavailable(line.tooMany, line.seconds)
    return new Promise((resolve) => {
      this.#waiting.push(resolve)
    })
  }
}
