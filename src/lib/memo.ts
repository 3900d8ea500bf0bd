/** Remembers what was worked out, up to a bound; then it starts over. For results that never change, only cost. */
export class Memo<Value> {
  readonly #most: number
  readonly #longestKey: number
  readonly #known = new Map<string, Value>()

  /** What has a longer key is not worth the memory: it is worked out each time. */
  constructor(most: number, longestKey = Number.POSITIVE_INFINITY) {
    this.#most = most
    this.#longestKey = longestKey
  }

  /** What is known under a key, or else what it is worked out to be. */
  of(key: string, workOut: (key: string) => Value): Value {
    return this.#known.get(key) ?? this.keep(key, workOut(key))
  }

  get(key: string): Value | undefined {
    return this.#known.get(key)
  }

  keep(key: string, value: Value): Value {
    if (key.length > this.#longestKey) return value
    if (this.#known.size >= this.#most) this.#known.clear()
    this.#known.set(key, value)
    return value
  }
}
