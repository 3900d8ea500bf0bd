/** Remembers what was worked out, up to a bound; then it starts over. For results that never change, only cost. */
export class Memo<Value> {
  readonly #most: number
  readonly #known = new Map<string, Value>()

  constructor(most: number) {
    this.#most = most
  }

  get(key: string): Value | undefined {
    return this.#known.get(key)
  }

  keep(key: string, value: Value): Value {
    if (this.#known.size >= this.#most) this.#known.clear()
    this.#known.set(key, value)
    return value
  }
}
