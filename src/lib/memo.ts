/** Cache of values by a text key. When it is full (`max` values), the next new key clears it. */
export class Memo<Value> {
  readonly #max: number
  readonly #longestKey: number
  readonly #known = new Map<string, Value>()

  /** A value whose key is longer than `longestKey` is not worth the memory; it is computed each time. */
  constructor(max: number, longestKey = Number.POSITIVE_INFINITY) {
    this.#max = max
    this.#longestKey = longestKey
  }

  /** The cached value of a key; if there is none, computes and caches it. */
  getOrCompute(key: string, workOut: (key: string) => Value): Value {
    return this.get(key) ?? this.keep(key, workOut(key))
  }

  get(key: string): Value | undefined {
    // Looking up a long text takes time in proportion to its length.
    return key.length > this.#longestKey ? undefined : this.#known.get(key)
  }

  keep(key: string, value: Value): Value {
    if (key.length > this.#longestKey) return value
    if (this.#known.size >= this.#max && !this.#known.has(key)) this.#known.clear()
    this.#known.set(key, value)
    return value
  }
}
