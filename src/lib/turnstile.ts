/** How many may wait, and what the others are told. */
interface Line {
  most: number
  tooMany(): Error
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
    if (this.#line && this.#waiting.length >= this.#line.most) throw this.#line.tooMany()
    return new Promise((resolve) => {
      this.#waiting.push(resolve)
    })
  }
}
